// Eight schools, non-centred.
data {
  int<lower=1> n;
  vector[n] y;
  vector<lower=0>[n] s;
}
parameters {
  vector[n] eta;
  real mu;
  real<lower=0> tau;
}
model {
  eta ~ std_normal();
  mu ~ normal(0, 5);
  tau ~ cauchy(0, 5);
  y ~ normal(mu + tau * eta, s);
}
