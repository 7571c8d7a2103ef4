//! Tests the numbers of parameters of the networks in the library.

use crate::{network, run};

#[track_caller]
fn has_parameters(name: &str, net: &str, expected: usize) {
    let output = run(name, "check", 3 * 32 * 32, &network(net, 10, 32));
    assert_eq!(output.status, 0, "{}", output.stderr);
    let line = output
        .stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix("parameters "));
    assert_eq!(
        line.map(str::trim),
        Some(expected.to_string().as_str()),
        "{}",
        output.stdout
    );
}

/// The number of weights of a convolution by square kernels.
fn conv(from: usize, to: usize, size: usize) -> usize {
    from * to * size * size
}

// The expected numbers follow from the tables of layers in the papers. A normalisation of `c` channels has `2 * c` parameters.

#[test]
fn vgg_has_the_parameters_of_its_table() {
    let channels = [3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512];
    let filters: usize = channels
        .windows(2)
        .map(|pair| conv(pair[0], pair[1], 3) + pair[1])
        .sum();
    has_parameters("vgg", "VGG(10)", filters + 2 * (512 * 512 + 512) + 5130);
}

#[test]
fn residual_networks_have_the_parameters_of_their_tables() {
    let basic = |from: usize, to: usize| conv(from, to, 3) + conv(to, to, 3) + 4 * to;
    let stage = |from: usize, to: usize| basic(from, to) + conv(from, to, 1) + 2 * to + basic(to, to);
    let first = conv(3, 64, 3) + 128 + 2 * basic(64, 64);
    let stages = stage(64, 128) + stage(128, 256) + stage(256, 512);
    assert_eq!(first + stages + 5130, 11_173_962);
    has_parameters("resnet18", "ResNet(10)", first + stages + 5130);
    has_parameters(
        "grouped",
        "ResNet(10, norm = GroupNorm(8))",
        first + stages + 5130,
    );
    // Without normalisation, two parameters for each of the channels of 20 convolutions are missing.
    let channels = 64 + 4 * 64 + 5 * (128 + 256 + 512);
    let bare = first + stages + 5130 - 2 * channels;
    has_parameters("bare", "ResNet(10, norm = Identity())", bare);
}

#[test]
fn bottleneck_networks_have_the_parameters_of_their_tables() {
    let block = |from: usize, w: usize| conv(from, w, 1) + conv(w, w, 3) + conv(w, 4 * w, 1) + 12 * w;
    let stage = |from: usize, w: usize, blocks: usize| {
        block(from, w) + conv(from, 4 * w, 1) + 8 * w + (blocks - 1) * block(4 * w, w)
    };
    let stages = stage(64, 64, 3) + stage(256, 128, 4) + stage(512, 256, 6) + stage(1024, 512, 3);
    has_parameters(
        "resnet50",
        "BottleneckResNet(10)",
        conv(3, 64, 3) + 128 + stages + 20_490,
    );
    let block =
        |from: usize, w: usize| 2 * from + conv(from, w, 1) + conv(w, w, 3) + conv(w, 4 * w, 1) + 4 * w;
    let stage = |from: usize, w: usize| block(from, w) + conv(from, 4 * w, 1) + 2 * block(4 * w, w);
    let stages = stage(16, 16) + stage(64, 32) + stage(128, 64);
    // Three blocks in each stage instead of eighteen: the network has 29 layers.
    let expected = conv(3, 16, 3) + stages + 512 + 2570;
    has_parameters("preresnet29", "PreResNet(10, blocks = 3)", expected);
    let further = 15 * (block(64, 16) + block(128, 32) + block(256, 64));
    assert_eq!(expected + further, 1_703_258);
    has_parameters("preresnet164", "PreResNet(10)", expected + further);
}

#[test]
fn wide_and_dense_networks_have_the_published_parameters() {
    let block = |from: usize, to: usize| 2 * (from + to) + conv(from, to, 3) + conv(to, to, 3);
    let stage = |from: usize, to: usize| block(from, to) + conv(from, to, 1) + 3 * block(to, to);
    let stages = stage(16, 160) + stage(160, 320) + stage(320, 640);
    let expected = conv(3, 16, 3) + stages + 1280 + 6410;
    assert_eq!(expected, 36_479_194);
    has_parameters("wide", "WideResNet(10)", expected);
    let growth = |from: usize| (0..12).map(move |at| 2 * (from + 12 * at) + conv(from + 12 * at, 12, 3));
    let transition = |channels: usize| 2 * channels + channels * channels;
    let stages: usize = [16, 160, 304].into_iter().flat_map(growth).sum();
    let expected = conv(3, 16, 3) + stages + transition(160) + transition(304) + 896 + 4490;
    assert_eq!(expected, 1_019_722);
    has_parameters("dense", "DenseNet(10)", expected);
}

/// The blocks with bottlenecks, and transitions that halve the number of channels.
#[test]
fn bottleneck_dense_networks_have_the_published_parameters() {
    let parameters = |start: usize, growth: usize, stages: &[usize]| {
        let (mut channels, mut sum) = (2 * growth, conv(3, 2 * growth, start));
        for (at, blocks) in stages.iter().enumerate() {
            for _ in 0..*blocks {
                sum += 2 * channels + conv(channels, 4 * growth, 1);
                sum += 8 * growth + conv(4 * growth, growth, 3);
                channels += growth;
            }
            if at + 1 < stages.len() {
                sum += 2 * channels + conv(channels, channels / 2, 1);
                channels /= 2;
            }
        }
        (sum + 2 * channels, channels)
    };
    let (small, channels) = parameters(3, 12, &[16, 16, 16]);
    let expected = small + 10 * channels + 10;
    // The paper gives 0.8 million.
    assert_eq!(expected, 769_162);
    has_parameters("dense-bc-100", "BottleneckDenseNet(10)", expected);
    let (large, channels) = parameters(7, 32, &[6, 12, 24, 16]);
    let (expected, first_norm) = (large + 1000 * channels + 1000, 128);
    assert_eq!(expected + first_norm, 7_978_856);
    let ten = large + first_norm + 10 * channels + 10;
    has_parameters("dense-121", "LargeDenseNet(10)", ten);
}
