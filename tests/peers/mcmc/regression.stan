// A linear regression; which priors it has is part of the data.
data {
  int<lower=1> n;
  int<lower=1> p;
  matrix[n, p] x;
  vector[n] y;
  int<lower=0, upper=1> beta_flat;
  real<lower=0> beta_sd;
  int<lower=0, upper=2> sigma_prior; // flat, Cauchy, normal
  real<lower=0> sigma_scale;
}
parameters {
  vector[p] beta;
  real<lower=0> sigma;
}
model {
  if (!beta_flat) beta ~ normal(0, beta_sd);
  if (sigma_prior == 1) sigma ~ cauchy(0, sigma_scale);
  if (sigma_prior == 2) sigma ~ normal(0, sigma_scale);
  y ~ normal_id_glm(x, 0, beta, sigma);
}
