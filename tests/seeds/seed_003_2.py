import torch

class MyCustomFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input_tensor):
        ctx.save_for_backward(input_tensor)
        return input_tensor * 2

    @staticmethod
    def backward(ctx, grad_output):
      input_tensor, = ctx.saved_tensors
      grad_input = grad_output * 2
      return grad_input

input_data = torch.tensor([2.0], requires_grad=True)

output = MyCustomFunction.apply(input_data)

loss = torch.sum((output-4)**2)

loss.backward()

print (input_data.grad)
