"""Coefficients of Cephes' logarithm, cosine and sine in single precision, highest power first: torch's normals use them."""

LOGARITHM = (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
             2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
COSINE = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
SINE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
