//! Tests of layers and optimisers. Each one is compiled, and runs in a small model.

use bnnc_base::dtype::Precision;
use bnnc_tests::compile;

/// Fits a model to a small data set for a few epochs. The model contains a network.
fn fit(network: &str, posterior: &str, options: &str) {
    let text = format!(
        "use layers::Dense
         use layers::Linear
         use layers::LayerNorm
         data toy = csv(\"data/toy.csv\") {{ standardise = [inputs, target] }}
         model Toy(x: real[d]) -> y: real {{
           {network}
           y ~ Normal(output, 0.5)
         }}
         posterior Q of Toy {{
           {posterior}
         }}
         infer fit = vi(Q, toy) {{ epochs = 3, batch = 0, {options} }}"
    );
    run("examples/toy/test.bnn", &text);
}

fn run(path: &str, text: &str) {
    for precision in [Precision::F32, Precision::F64] {
        let options = compile::options("cranelift", Some(precision));
        let compiled = compile::text(&bnnc_tests::root().join(path), text, &options);
        let result = compile::run(&compiled.manifest, 1);
        let json = bnnc_report::result::json(&compiled.manifest, &result);
        let numbers = json["infer"]["fit"]["parameters"].as_object();
        let numbers = numbers.unwrap_or_else(|| panic!("{text}: {json}"));
        assert!(!numbers.is_empty() && !json.to_string().contains("NaN"), "{json}");
    }
}

#[test]
fn dense_and_linear_layers_run() {
    let network = "h = Dense(4)\n k = Linear(1, prior = Normal(0, 0.5))\n output = k(relu(h(x)))[0]";
    fit(
        network,
        "h.*, k.* ~ Normal(scale = 0.1)",
        "optimiser = Adam(1e-2)",
    );
}

#[test]
fn residual_layers_run() {
    let network =
        "h = Dense(3)\n r = Residual(Sequential(Dense(3), tanh))\n k = Dense(1)\n output = k(r(h(x)))[0]";
    fit(
        network,
        "h.*, r.*, k.* ~ Normal(scale = 0.1)",
        "optimiser = SGD(1e-4, momentum = 0.9)",
    );
}

/// The image that is normalised has one channel and one row.
#[test]
fn layer_norms_run() {
    let network = "h = Dense(4)\n n = LayerNorm()\n k = Dense(1)\n output = k(n([[h(x)]])[0, 0])[0]";
    fit(
        network,
        "h.*, k.* ~ Normal(scale = 0.1)",
        "optimiser = RMSProp(1e-3)",
    );
}

#[test]
fn norms_of_one_example_run() {
    let network = "h = Dense(12)\n g = GroupNorm(2)\n f = FilterResponseNorm()\n n = LayerNorm(positions = false)\n k = Dense(1)
           output = k(flatten(n(f(g(reshape(h(x), 4, 1, 3))))))[0]";
    fit(
        network,
        "h.*, g.*, f.*, k.* ~ Normal(scale = 0.1)",
        "optimiser = Adam(1e-3)",
    );
}

#[test]
fn batch_norms_run() {
    let network = "h = Dense(12)\n n = BatchNorm()\n k = Dense(1)\n output = k(flatten(relu(n(reshape(h(x), 4, 1, 3)))))[0]";
    fit(
        network,
        "h.*, n.*, k.* ~ Normal(scale = 0.1)",
        "optimiser = Adam(1e-3), samples = 2",
    );
}

/// The input of the convolution is an image of twelve elements, which are the units of a layer.
#[test]
fn convolutions_run() {
    let network = "h = Dense(12)\n c = Conv(2, 2, 3, stride = 2, padding = 1)\n k = Dense(1)
           output = k(flatten(max_pool(relu(c(reshape(h(x), 1, 3, 4))), 2)))[0]";
    fit(
        network,
        "h.*, c.*, k.* ~ Normal(scale = 0.1)",
        "optimiser = Adam(1e-2), samples = 2",
    );
}

#[test]
fn decoupled_weight_decay_runs() {
    let network = "h = Dense(4)\n k = Dense(1)\n output = k(tanh(h(x)))[0]";
    fit(
        network,
        "h.*, k.* ~ Normal(scale = 0.1)",
        "optimiser = AdamW(1e-3, decay = 0.1)",
    );
}

#[test]
fn nesterovs_momentum_runs_with_clipped_gradients() {
    let network = "h = Dense(4)\n k = Dense(1)\n output = k(tanh(h(x)))[0]";
    fit(
        network,
        "h.*, k.* ~ Normal(scale = 0.1)",
        "optimiser = Nesterov(1e-4), clip = 1.0, schedule = warmup(1, cosine)",
    );
}

#[test]
fn embeddings_run() {
    let text = "use layers::Embedding
         data schools = json(\"data/eight_schools.json\")
         model Schools(school: index(J) = row, sigma: positive) -> y: real {
           e = Embedding(J, 2, prior = Normal(0, 5))
           y ~ Normal(sum(e(school)), sigma)
         }
         posterior Q of Schools {
           e.table ~ Normal(scale = 0.1)
         }
         infer fit = vi(Q, schools) { epochs = 3, batch = 0 }";
    run("examples/eight-schools/test.bnn", text);
}

#[test]
fn pools_run() {
    let network = "i = Conv(4, 1, 1)\n p = Sequential(MaxPool(2), MeanPool(2, stride = 1))\n k = Linear(1)
           output = k(flatten(p(i(repeat(x, 4, 4)))))[0]";
    fit(
        network,
        "i.*, k.* ~ Normal(scale = 0.1)",
        "optimiser = Adam(1e-3)",
    );
}

/// Each block keeps the four channels or projects to eight, and the dense blocks append channels.
#[test]
fn blocks_of_deep_networks_run() {
    for block in [
        "ConvBlock(4, norm = Identity())",
        "LinearConv(4, 1, 1)",
        "BasicBlock()",
        "BasicProjection(8)",
        "Bottleneck()",
        "BottleneckProjection(2)",
        "PreBlock()",
        "PreProjection(8)",
        "PreBottleneck()",
        "PreBottleneckProjection(2)",
        "BasicStage(8, 2)",
        "BottleneckStage(2, 2)",
        "PreStage(8, 2)",
        "PreBottleneckStage(2, 2)",
        "GrowthBlock(3)",
        "GrowthBottleneck(3)",
        "GrowthTransition(2)",
        "DepthwiseConv(3, 3, padding = 1)",
        "ConvTranspose(4, 2, 2, stride = 2)",
    ] {
        let network = format!(
            "i = Conv(4, 1, 1)\n a = {block}\n k = Linear(1)\n output = k(flatten(a(i(repeat(x, 2, 2)))))[0]"
        );
        fit(
            &network,
            "i.*, a.*, k.* ~ Normal(scale = 0.1)",
            "optimiser = Adam(1e-3)",
        );
    }
}

#[test]
fn deep_networks_run() {
    for (network, side) in [
        ("VGG(1, 1, 1, 1, 1, 1, width = 2, hidden = 3)", 32),
        ("ResNet(1, 1, 1, 1, 1, width = 2, norm = GroupNorm(2))", 4),
        ("BottleneckResNet(1, 1, 1, 1, 1, width = 2)", 4),
        ("PreResNet(1, blocks = 2, width = 2)", 4),
        ("WideResNet(1, blocks = 1, widen = 1)", 4),
        ("DenseNet(1, blocks = 2, growth = 2)", 4),
        ("BottleneckDenseNet(1, blocks = 2, growth = 2)", 4),
        ("LargeDenseNet(1, 1, 2, 1, 1, growth = 2)", 32),
    ] {
        let text = format!("a = {network}\n output = a(repeat(x, {side}, {side}))[0]");
        fit(&text, "a.* ~ Normal(scale = 0.1)", "optimiser = Adam(1e-3)");
    }
}

/// The input is a series of one channel, or a volume of one channel.
#[test]
fn layers_of_series_and_volumes_run() {
    for (layers, sizes) in [
        ("Conv1d(2, 3, stride = 2), relu, ConvTranspose1d(2, 2)", "6"),
        ("Conv3d(2, 2, 2, 2), relu, LinearConv3d(2, 1, 1, 1)", "3, 3, 3"),
        ("VolumeBlock(2, 2), ConvTranspose3d(2, 2, 2, 2)", "2, 2, 2"),
        ("UNet3d(2, width = 1)", "8, 8, 8"),
    ] {
        let network = format!("a = Sequential({layers})\n output = mean(a(repeat(x, {sizes})))");
        fit(&network, "a.* ~ Normal(scale = 0.1)", "optimiser = Adam(1e-3)");
    }
}

#[test]
fn stages_of_vgg_run() {
    let network = "a = VGGStage(2, 2)\n k = Linear(1)\n output = k(flatten(a(repeat(x, 2, 2))))[0]";
    fit(
        network,
        "a.*, k.* ~ Normal(scale = 0.1)",
        "optimiser = Adam(1e-3)",
    );
}

/// Every layer and every optimiser of the library is named in a test of this file.
#[test]
fn every_layer_and_optimiser_is_run() {
    let module = super::probe::module("");
    let here = include_str!("layers.rs");
    let layers = module.layers.iter().map(|layer| &layer.name);
    for name in layers.chain(module.optimisers.iter().map(|optimiser| &optimiser.name)) {
        assert!(here.contains(&format!("{name}(")), "`{name}` is not run");
    }
}

/// Each variational family that has a sampler fits a small network. If a family covers only a part
/// of the reals, it fits a scale instead of the network.
#[test]
fn families_fit() {
    let network = "h = Dense(3)\n k = Dense(1)\n output = k(tanh(h(x)))[0]";
    for family in [
        "Laplace(scale = 0.1)",
        "Logistic(scale = 0.1)",
        "Radial(scale = 0.1)",
        "LowRankNormal(rank = 2)",
        "Error(scale = 0.1, shape = fixed(1.5))",
        "LogGamma(shape = 5, scale = 0.2)",
        "Point",
    ] {
        fit(network, &format!("h.*, k.* ~ {family}"), "optimiser = Adam(1e-2)");
    }
    let network = "s: positive ~ Cauchy(0, 1)\n output = s * x[0]";
    for family in [
        "LogNormal(loc = 0, scale = 0.1)",
        "Exponential(scale = 1)",
        "HalfNormal(scale = 1)",
        "Rayleigh(scale = 1)",
        "Weibull(shape = 2, scale = 1)",
        "Gamma(shape = 4, scale = 0.3)",
        "Erlang(shape = 3, scale = 0.3)",
        "InverseGamma(shape = 4, scale = 3)",
        "InverseGaussian(mean = 1, shape = 3)",
        "StandardWald(scale = 1)",
    ] {
        fit(network, &format!("s ~ {family}"), "optimiser = Adam(1e-2)");
    }
}

/// The variational family has all moments. Priors can be fitted whether or not their KL divergence
/// has a closed form.
#[test]
fn priors_fit() {
    for prior in [
        "Horseshoe(0, 1)",
        "Error(0, 1, 1.6)",
        "StudentT(3, 0, 1)",
        "LogGamma(2, 1)",
    ] {
        let network = format!("k = Linear(1, prior = {prior})\n output = k(x)[0]");
        fit(&network, "k.* ~ Normal(scale = 0.1)", "optimiser = Adam(1e-2)");
    }
    for prior in [
        "Gamma(2, 1)",
        "Erlang(2, 1)",
        "Chi2(3)",
        "Weibull(2, 1)",
        "Rayleigh(1)",
        "InverseGamma(2, 1)",
        "InverseGaussian(1, 2)",
        "StandardWald(1)",
        "HalfStudentT(3, 1)",
    ] {
        let network = format!("s ~ {prior}\n output = s * x[0]");
        fit(
            &network,
            "s ~ LogNormal(loc = 0, scale = 0.1)",
            "optimiser = Adam(1e-2)",
        );
    }
}

/// If a declared type truncates a prior, the prior is normalised to the interval of the type.
#[test]
fn narrowed_priors_fit() {
    let posterior = "s ~ LogNormal(loc = 0, scale = 0.1)";
    for prior in [
        "Normal(0, 1)",
        "Cauchy(0, 2)",
        "Laplace(0, 1)",
        "Logistic(0, 1)",
        "HalfStudentT(3, 1)",
    ] {
        fit(
            &format!("s: positive ~ {prior}\n output = s * x[0]"),
            posterior,
            "optimiser = Adam(1e-2)",
        );
    }
    let posterior = "s ~ Normal(scale = 0.1)";
    fit(
        "s: unit ~ Uniform(0, 1)\n output = s * x[0]",
        posterior,
        "optimiser = Adam(1e-2)",
    );
    fit(
        "s: unit ~ Beta(2, 3)\n output = s * x[0]",
        posterior,
        "optimiser = Adam(1e-2)",
    );
}
