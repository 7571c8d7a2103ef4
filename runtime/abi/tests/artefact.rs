//! A bundle that is written and read again is unchanged. Bytes that are not a valid bundle are
//! rejected with the reason.
#![allow(clippy::unwrap_used)]

use bnnc_abi::artefact::{Built, BundleError, Origin, appended, decode, embedded, encode};
use bnnc_abi::code::{Artifact, Detached, KernelArgs, KernelCode, Object, ObjectKernel};
use bnnc_abi::cost::Cost;
use bnnc_abi::design::Design;
use bnnc_abi::device::{Count, DeviceProgram, Image, KernelEntry, KernelParameter, LaunchSequence, Routine};
use bnnc_abi::manifest::{
    self, Binding, Codes, DataSource, InferenceBlock, Init, KlWeight, Manifest, Output, OutputKind,
    RateSchedule, State, Train, Training,
};
use bnnc_abi::method::declare::OptionGroup;
use bnnc_abi::methods::variational::ViOptions;
use bnnc_abi::names::{LabelSource, Names, PositionLabels};
use bnnc_abi::plan::{Amount, Buffer, BufferRole, Extent, Launch, Plan, PlanStep, PrimitiveCall, Storage};
use bnnc_abi::primitive;
use bnnc_abi::schema::Elements;
use bnnc_base::arena::Arena;
use bnnc_base::checksum::Checksum;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Dim, Shape, Symbol};
use bnnc_math::philox;
use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

/// Returns a program that has one kernel and one library call. The kernel draws noise under `seed`
/// in a loop.
fn artifact(seed: u64) -> Artifact {
    let mut buffers = Arena::default();
    let buffer = |name: &str, role: BufferRole| Buffer {
        name: name.into(),
        storage: Storage::Real,
        shape: Shape(vec![Dim::Fixed(3), Dim::Symbol(Symbol::Batch)]),
        role,
    };
    let input = buffers.push(buffer("x", BufferRole::Constant(vec![1.5, -2.0, 0.25].into())));
    let output = buffers.push(buffer("y", BufferRole::Output));
    let key = |site: &str| Amount::one(Extent::fixed(philox::key(seed, site).cast_signed()));
    let launch = PlanStep::Launch(Launch {
        kernel: 0,
        buffers: vec![input, output],
        ints: vec![
            Amount::one(Extent::of(Dim::Symbol(Symbol::Batch))),
            key("w"),
            key("b"),
        ],
        outer: Amount::one(Extent::fixed(3)),
        work: Amount::default(),
        reduces: Vec::new(),
    });
    let call = PlanStep::Call(PrimitiveCall {
        primitive: primitive::lookup("cumsum").unwrap(),
        buffers: vec![input, output],
        ints: vec![Amount::one(Extent::fixed(1)); 4],
    });
    let looped = PlanStep::Repeat {
        count: Amount::one(Extent::fixed(2)),
        counter: output,
        body: vec![launch.clone(), call],
    };
    let plan = Plan {
        name: "fit.step".to_owned(),
        precision: Precision::F32,
        buffers,
        steps: vec![launch, looped],
        kernels: 1,
    };
    let object = Object {
        bytes: vec![7; 40],
        features: vec!["avx2".to_owned()],
        kernels: vec![ObjectKernel {
            symbol: "bnnc_fit_0_0".to_owned(),
            scratch: 192,
            keys: vec![1, 2],
        }],
        device: None,
    };
    Artifact {
        plan: Arc::new(plan),
        code: Arc::new(Detached(object)),
    }
}

fn train(seed: u64) -> Train {
    Train {
        step: artifact(seed),
        gradient: Some(artifact(seed)),
        has_noise: false,
        joins_rows: false,
        options: Training {
            epochs: Some(10),
            batch: 5,
            schedule: RateSchedule::Step {
                fraction: 0.5,
                factor: 0.1,
            },
            ..Training::defaults().unwrap()
        },
        rate: 0.01,
        vi: Some(ViOptions {
            kl_weight: KlWeight::Graves,
            ..ViOptions::defaults().unwrap()
        }),
        pruning: None,
    }
}

fn built(seed: u64) -> Built {
    let infer = InferenceBlock {
        name: "fit".to_owned(),
        method: "vi",
        data: "rows".to_owned(),
        precision: Precision::F32,
        work: manifest::Work::Train(Box::new(train(seed))),
        predict: artifact(seed),
        sites: artifact(seed),
        prior: Ok(artifact(seed)),
        states: vec![State {
            name: "w/loc".to_owned(),
            shape: Shape::fixed(&[3]),
            init: Init::Normal(0.0, 0.1),
            parameter: true,
            is_running_mean: false,
            from: None,
        }],
        reports: Vec::new(),
        bindings: vec![Binding {
            port: "x".to_owned(),
            from: DataSource::Inputs,
            elements: Elements::Real,
            support: None,
            shape: vec![3],
            codes: Codes::Positions,
            intercept: None,
            bytes: false,
        }],
        positions: None,
        reached: Vec::new(),
        design: Design::default(),
        outputs: vec![Output {
            name: "y".to_owned(),
            shape: Shape::scalar(),
            kind: OutputKind::Classes(4),
            given: false,
            series: false,
            joint: false,
            infinite_variance: false,
            infinite_below: None,
            fixed_variance: false,
            family: None,
            mean_range: None,
        }],
        names: Names {
            classes: vec![PositionLabels {
                of: "y".to_owned(),
                from: LabelSource::Levels("kind".to_owned()),
                names: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
            }],
            ..Names::default()
        },
        start: None,
        cost: Cost::default(),
        compile_seconds: 0.25,
    };
    Built {
        manifest: Manifest {
            program: "model.bnn".to_owned(),
            seed,
            backend: "cranelift".to_owned(),
            data: Vec::new(),
            infers: vec![infer],
            compares: Vec::new(),
            schemas: HashMap::new(),
        },
        origin: Origin {
            text: "infer fit = vi(Q, rows) { epochs = 10 }".to_owned(),
            ..Origin::default()
        },
    }
}

fn bytes(built: &Built) -> Vec<u8> {
    encode(built, vec!["avx2".to_owned()]).unwrap()
}

#[test]
fn what_is_written_is_read() {
    let written = bytes(&built(3));
    let (head, mut read) = decode(&written).unwrap();
    assert_eq!(head.features, ["avx2"]);
    assert_eq!(head.architecture, std::env::consts::ARCH);
    assert_eq!(bytes(&read), written);
    assert_eq!(read.manifest.infers[0].method, "vi");
    assert_eq!(read.manifest.artifacts().len(), 5);
    for artifact in read.manifest.artifacts() {
        assert_eq!(artifact.plan, crate::artifact(3).plan);
        assert_eq!(artifact.code.object(), crate::artifact(3).code.object());
    }
}

/// Returns the same program for a device. The device program has this number of kernels.
fn on_a_device(seed: u64, kernels: usize) -> Artifact {
    let Artifact { plan, code } = artifact(seed);
    let entry = KernelEntry {
        name: "kernel_0".to_owned(),
        grid: [
            Count::Quotient(Box::new(Count::Outer), 256),
            Count::Fixed(1),
            Count::Product(vec![Count::Int(0), Count::Elements(1)]),
        ],
        block: [256, 1, 1],
        static_shared: 64,
        dynamic_shared: Count::Fixed(0),
        parameters: vec![
            KernelParameter::Buffer(0),
            KernelParameter::Int(0),
            KernelParameter::Scratch,
        ],
    };
    let work = LaunchSequence {
        entries: vec![entry],
        scratch: Count::Fixed(8),
    };
    let device = DeviceProgram {
        images: vec![Image {
            capability: 80,
            ptx: ".version 7.0".into(),
        }],
        kernels: vec![work.clone(); kernels],
        routines: vec![Routine {
            primitive: primitive::lookup("matmul").unwrap(),
            ints: 9,
            work,
            blocked: None,
        }],
    };
    let object = Object {
        bytes: Vec::new(),
        device: Some(device),
        ..code.object().unwrap().clone()
    };
    Artifact {
        plan,
        code: Arc::new(Detached(object)),
    }
}

#[test]
fn images_are_read_as_they_were_written() {
    let mut built = built(3);
    built.manifest.infers[0].predict = on_a_device(3, 1);
    let (_, mut read) = decode(&bytes(&built)).unwrap();
    read.manifest.reseed(4);
    let (found, expected) = (&read.manifest.infers[0].predict, on_a_device(4, 1));
    assert_eq!(found.plan, artifact(4).plan);
    assert_eq!(found.code.device(), expected.code.device());
    assert_eq!(read.manifest.infers[0].sites.code.device(), None);
    // The device program has more kernels than the plan.
    built.manifest.infers[0].predict = on_a_device(3, 2);
    let rejection = decode(&bytes(&built)).err().unwrap();
    assert!(matches!(rejection, BundleError::Damaged(_)), "{rejection}");
}

#[test]
fn another_seed_is_another_build() {
    let mut reseeded = built(3);
    reseeded.manifest.reseed(u64::MAX);
    assert_eq!(bytes(&reseeded), bytes(&built(u64::MAX)));
    assert_ne!(bytes(&reseeded), bytes(&built(3)));
    reseeded.manifest.reseed(3);
    assert_eq!(bytes(&reseeded), bytes(&built(3)));
}

/// Code that is not an object, and therefore cannot be written into a bundle.
struct InMemory;

impl KernelCode for InMemory {
    unsafe fn launch(&self, _: usize, _: &KernelArgs) {}
    fn scratch_bytes(&self, _: usize) -> usize {
        0
    }
    fn is_reference(&self) -> bool {
        true
    }
    fn text(&self) -> String {
        String::new()
    }
}

#[test]
fn code_of_a_process_stays_there() {
    let mut stuck = built(0);
    stuck.manifest.infers[0].predict.code = Arc::new(InMemory);
    assert!(matches!(encode(&stuck, Vec::new()), Err(BundleError::Damaged(_))));
}

/// Updates the length and the checksum of a bundle whose body was changed.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.split_off(32);
    bytes[16..24].copy_from_slice(&(body.len() as u64).to_le_bytes());
    bytes[24..32].copy_from_slice(&Checksum::of(&body).value().to_le_bytes());
    [bytes, body].concat()
}

#[test]
fn damage_is_found_and_named() {
    let whole = bytes(&built(0));
    let rejection = |bytes: &[u8]| decode(bytes).err().unwrap();
    assert_eq!(rejection(b""), BundleError::Unknown);
    assert_eq!(
        rejection(b"#!/bin/sh\necho this is no artefact at all\n"),
        BundleError::Unknown
    );
    for length in 0..whole.len() {
        let expected = if length < 32 {
            BundleError::Unknown
        } else {
            BundleError::Truncated
        };
        assert_eq!(rejection(&whole[..length]), expected, "{length} bytes");
    }
    assert_eq!(rejection(&[&*whole, b"."].concat()), BundleError::Truncated);
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            let found = rejection(&flipped);
            let fits = match at {
                0..8 => found == BundleError::Unknown,
                8..16 => found == BundleError::OtherLayout,
                16..24 => found == BundleError::Truncated,
                _ => matches!(found, BundleError::Damaged(_)),
            };
            assert!(fits, "bit {bit} of byte {at}: {found:?}");
        }
    }
}

#[test]
fn nonsense_with_a_right_checksum_is_no_crash() {
    let whole = bytes(&built(0));
    for length in 32..whole.len() {
        assert!(
            decode(&sealed(whole[..length].to_vec())).is_err(),
            "{length} bytes"
        );
    }
    assert!(decode(&sealed([&*whole, b"more"].concat())).is_err());
    for at in 32..whole.len() {
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            if let Ok((_, mut read)) = decode(&sealed(flipped)) {
                read.manifest.reseed(1);
                let _ = encode(&read, Vec::new());
            }
        }
    }
}

#[test]
fn another_architecture_is_named() {
    let whole = bytes(&built(0));
    let name = std::env::consts::ARCH.as_bytes();
    let at = whole
        .windows(name.len())
        .position(|window| window == name)
        .unwrap();
    let mut other = whole;
    other[at] = b'z';
    let found = decode(&sealed(other)).err().unwrap();
    let expected = format!("z{}", &std::env::consts::ARCH[1..]);
    assert_eq!(found, BundleError::OtherArchitecture(expected.clone()));
    assert!(found.to_string().contains(&expected));
}

#[test]
fn an_executable_carries_its_artefact() {
    let artefact = bytes(&built(0));
    let read = |bytes: Vec<u8>| embedded(&mut Cursor::new(bytes)).unwrap();
    let executable = [b"\x7FELF and so on".to_vec(), appended(&artefact)].concat();
    assert_eq!(read(executable.clone()), Ok(artefact.clone()));
    assert_eq!(read(b"\x7FELF".to_vec()), Err(BundleError::Unknown));
    assert_eq!(
        read(executable[..executable.len() - 1].to_vec()),
        Err(BundleError::Unknown)
    );
    // The trailer states a length that is greater than the length of the file.
    let tail = &executable[executable.len() - 100..];
    assert_eq!(read(tail.to_vec()), Err(BundleError::Truncated));
}
