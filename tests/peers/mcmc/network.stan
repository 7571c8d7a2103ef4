// One hidden layer with rectifiers.
data {
  int<lower=1> n;
  int<lower=1> p;
  int<lower=1> hidden;
  matrix[n, p] x;
  vector[n] y;
}
parameters {
  matrix[p, hidden] w1;
  row_vector[hidden] b1;
  vector[hidden] w2;
  real b2;
  real<lower=0> sigma;
}
model {
  to_vector(w1) ~ std_normal();
  b1 ~ std_normal();
  w2 ~ std_normal();
  b2 ~ std_normal();
  sigma ~ std_normal();
  y ~ normal(fmax(x * w1 + rep_matrix(b1, n), 0) * w2 + b2, sigma);
}
