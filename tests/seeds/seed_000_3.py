import torch

class CustomFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.pow(2)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output * 2 * input

x = torch.randn(3, requires_grad=True)
custom_func = CustomFunction.apply
y = custom_func(x)
y.backward()

print(x.grad)
print(y.requires_grad)
