// A logistic regression with flat priors.
data {
  int<lower=1> n;
  matrix[n, 1] x;
  array[n] int<lower=0, upper=1> vote;
}
parameters {
  real alpha;
  vector[1] beta;
}
model {
  vote ~ bernoulli_logit_glm(x, alpha, beta);
}
