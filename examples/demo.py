"""What whygrad does, in a minute: gradients, second derivatives, training, and answers."""

import whygrad as torch


def title(text: str) -> None:
    print(f"\n== {text}")


title("a gradient")
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = (x**2).sum()
y.backward()
print("x.grad =", x.grad)

title("a second derivative")
x = torch.tensor(2.0, requires_grad=True)
(first,) = torch.autograd.grad(x**3, x, create_graph=True)
(second,) = torch.autograd.grad(first, x)
print("d(x³)/dx =", first, " d²(x³)/dx² =", second)

title("training a small network")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
points = torch.rand(64, 2) * 2 - 1
target = (points[:, :1] * points[:, 1:]).detach()
for step in range(201):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(points), target)
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3d}  loss {loss.item():.5f}")

title("why is output.grad None?")
w = torch.randn(3, requires_grad=True)
output = w * 2
output.sum().backward()
print(output.why())

title("why has a tensor with requires_grad=False a gradient?")
w = torch.ones(2, requires_grad=True)
(w * 3).sum().backward()
w.requires_grad_(False)
print(w.why())

title("why does backward need a gradient argument?")
try:
    (torch.ones(3, requires_grad=True) * 2).backward()
except RuntimeError as error:
    print("RuntimeError:", error)
    print("\n".join(error.__notes__))

title("why does nothing reach the encoder?")
encoder, decoder = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
code = (encoder * 2).detach()
loss = (code * decoder).sum()
loss.backward()
print(encoder.why())
