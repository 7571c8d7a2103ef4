//! Objects from Cranelift and from a C compiler are loaded, and their functions are called. Damaged
//! objects are rejected.
#![allow(clippy::unwrap_used)]

use bnnc_abi::code::{KernelArgs, KernelCode, Object, ObjectKernel};
use bnnc_abi::symbols::Address;
use bnnc_base::diagnostics::NO_CODE;
use bnnc_base::fault::Fault;
use bnnc_object::{LoadedCode, load};
use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{DataDescription, Linkage, Module, default_libcall_names};
use cranelift_object::{ObjectBuilder, ObjectModule};
use std::process::Command;

/// Returns an object that defines:
/// - `affine(x) = 2.5 x + *offset`, where `offset` is data;
/// - `through(x) = twice(x)`, where the object does not define `twice`;
/// - `pointed() = *pointer`, where `pointer` is data that holds the address of `offset`.
fn sample(pic: bool) -> Vec<u8> {
    let mut flags = settings::builder();
    flags.set("is_pic", if pic { "true" } else { "false" }).unwrap();
    let isa = cranelift_native::builder()
        .unwrap()
        .finish(settings::Flags::new(flags))
        .unwrap();
    let mut module = ObjectModule::new(ObjectBuilder::new(isa, "sample", default_libcall_names()).unwrap());
    let mut context = module.make_context();
    let mut functions = FunctionBuilderContext::new();

    let offset = module
        .declare_data("offset", Linkage::Local, true, false)
        .unwrap();
    let mut data = DataDescription::new();
    data.define(Box::new(0.75_f64.to_le_bytes()));
    data.set_align(8);
    module.define_data(offset, &data).unwrap();
    let pointer = module
        .declare_data("pointer", Linkage::Local, false, false)
        .unwrap();
    let mut data = DataDescription::new();
    data.set_align(8);
    data.define(Box::new([0; 8]));
    let target = module.declare_data_in_data(offset, &mut data);
    data.write_data_addr(0, target, 0);
    module.define_data(pointer, &data).unwrap();

    let mut real = module.make_signature();
    real.params.push(AbiParam::new(types::F64));
    real.returns.push(AbiParam::new(types::F64));
    let twice = module.declare_function("twice", Linkage::Import, &real).unwrap();

    for name in ["affine", "through", "pointed"] {
        context.func.signature = real.clone();
        let address = module.target_config().pointer_type();
        let mut builder = FunctionBuilder::new(&mut context.func, &mut functions);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let x = builder.block_params(entry)[0];
        let result = match name {
            "affine" => {
                let global = module.declare_data_in_func(offset, builder.func);
                let at = builder.ins().symbol_value(address, global);
                let offset = builder.ins().load(types::F64, MemFlagsData::trusted(), at, 0);
                let slope = builder.ins().f64const(2.5);
                let product = builder.ins().fmul(x, slope);
                builder.ins().fadd(product, offset)
            }
            "through" => {
                let callee = module.declare_func_in_func(twice, builder.func);
                let call = builder.ins().call(callee, &[x]);
                builder.inst_results(call)[0]
            }
            _ => {
                let global = module.declare_data_in_func(pointer, builder.func);
                let at = builder.ins().symbol_value(address, global);
                let at = builder.ins().load(address, MemFlagsData::trusted(), at, 0);
                builder.ins().load(types::F64, MemFlagsData::trusted(), at, 0)
            }
        };
        builder.ins().return_(&[result]);
        builder.seal_all_blocks();
        builder.finalize(module.target_config());
        let function = module.declare_function(name, Linkage::Export, &real).unwrap();
        module.define_function(function, &mut context).unwrap();
        module.clear_context(&mut context);
    }
    module.finish().emit().unwrap()
}

extern "C" fn twice(x: f64) -> f64 {
    2.0 * x
}

fn symbols() -> Vec<Address> {
    vec![Address {
        name: "twice".to_owned(),
        pointer: twice as *const () as usize,
    }]
}

type Real = extern "C" fn(f64) -> f64;

fn real(address: *const u8) -> Real {
    // SAFETY: every function of the test objects has this signature.
    unsafe { std::mem::transmute::<*const u8, Real>(address) }
}

#[test]
fn constants_data_and_calls_reach_their_symbols() {
    for pic in [true, false] {
        let loaded = load(&sample(pic), &symbols()).unwrap();
        let call = |name: &str, x: f64| real(loaded.function(name).unwrap())(x);
        assert_eq!(call("affine", 2.0), 5.75, "pic {pic}");
        assert_eq!(call("through", -3.0), -6.0, "pic {pic}");
        assert_eq!(call("pointed", 0.0), 0.75, "pic {pic}");
        assert!(loaded.function("twice").is_none());
        assert!(loaded.function("nothing").is_none());
    }
}

#[test]
fn a_symbol_beyond_the_reach_of_a_call_is_reached_through_a_stub() {
    // The function must be out of the reach of a call, which is two gigabytes. Since the image is
    // mapped near the libraries, the page is allocated near the other end of the address space.
    let page = region::page::size();
    let far = region::alloc_at(
        0x1000_0000_0000_usize as *const u8,
        page,
        region::Protection::READ_WRITE,
    )
    .unwrap();
    // The machine code of `addsd xmm0, xmm0; ret`.
    let code = [0xF2, 0x0F, 0x58, 0xC0, 0xC3];
    let mut far = far;
    // SAFETY: the page belongs to this test, and is writable.
    unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), far.as_mut_ptr::<u8>(), code.len()) };
    // SAFETY: nothing else uses the page.
    unsafe { region::protect(far.as_ptr::<u8>(), page, region::Protection::READ_EXECUTE) }.unwrap();
    let symbols = [Address {
        name: "twice".to_owned(),
        pointer: far.as_ptr::<u8>() as usize,
    }];
    let loaded = load(&sample(true), &symbols).unwrap();
    let function = loaded.function("through").unwrap();
    assert!((function as usize).abs_diff(symbols[0].pointer) > 1 << 31);
    assert_eq!(real(function)(4.5), 9.0);
}

#[test]
fn missing_symbols_are_named() {
    let message = load(&sample(true), &[]).err().unwrap().to_string();
    assert!(message.contains("`twice`"), "{message}");
    let object = Object {
        bytes: sample(true),
        features: Vec::new(),
        kernels: vec![ObjectKernel {
            symbol: "kernel".to_owned(),
            scratch: 0,
            keys: Vec::new(),
        }],
        device: None,
    };
    let Some(Fault::Limit(limit)) = LoadedCode::load(&object, &symbols()).err() else {
        panic!("an object without a kernel was loaded");
    };
    assert_eq!(limit.code, &NO_CODE);
    assert!(limit.text.contains("`kernel`"), "{}", limit.text);
}

#[test]
fn damaged_objects_never_crash_the_loader() {
    let whole = sample(true);
    for length in 0..whole.len() {
        // Wherever a file is cut off, it lacks a part of its tables, so it cannot be loaded.
        assert!(load(&whole[..length], &symbols()).is_err(), "{length} bytes");
    }
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let _ = load(&damaged, &symbols());
        }
    }
    // Random words overwrite offsets, sizes, numbers and alignments in the file.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..20_000 {
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut damaged = whole.clone();
        let at = next() as usize % (whole.len() - 8);
        let word = next() >> (next() % 64);
        damaged[at..at + 8].copy_from_slice(&word.to_le_bytes());
        let _ = load(&damaged, &symbols());
    }
}

#[test]
fn other_kinds_of_files_are_rejected() {
    for bytes in [&b""[..], b"\x7FELF", b"MZ", &[0; 4096]] {
        assert!(load(bytes, &[]).is_err());
    }
    // The executable of the test is an ELF file, but is not relocatable.
    let itself = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let message = load(&itself, &[]).err().unwrap().to_string();
    assert!(message.contains("relocatable"), "{message}");
    let mut other = sample(true);
    // These bytes of the ELF header name the machine: 183 is AArch64.
    other[18..20].copy_from_slice(&183_u16.to_le_bytes());
    let message = load(&other, &[]).err().unwrap().to_string();
    assert!(message.contains("Aarch64"), "{message}");
}

const C: &str = r#"
#include <string.h>
extern double twice(double);
double (*const table[2])(double) = {0, twice};
static double sum;
static const double powers[4] = {1, 10, 100, 1000};
double accumulate(double x) { sum += x; return sum; }
double indirect(double x) { return table[1](x); }
double power(double x) { return powers[(int)x & 3]; }
double moved(double x) { double y[64]; double z[64]; for (int i = 0; i < 64; i++) y[i] = x * i; memcpy(z, y, sizeof z); return z[(int)x]; }
double branch(double x) { switch ((int)x) { case 0: return 5; case 1: return twice(7); case 2: return 11; case 3: return x * x; case 4: return 1; default: return -1; } }
"#;

#[test]
fn objects_of_a_c_compiler_load_in_every_model() {
    let folder = std::env::temp_dir().join(format!("bnnc-object-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("c.c");
    std::fs::write(&source, C).unwrap();
    for model in [
        &["-fPIC", "-O2"][..],
        &["-fno-pic", "-mcmodel=large", "-O1"],
        &["-fPIE", "-O0"],
    ] {
        let object = folder.join("c.o");
        let compiler = Command::new("cc")
            .args(model)
            .args(["-c", "-o"])
            .args([&object, &source])
            .status();
        if !compiler.is_ok_and(|status| status.success()) {
            println!("not tested: no C compiler that takes {model:?}");
            continue;
        }
        let loaded = load(&std::fs::read(&object).unwrap(), &symbols()).unwrap();
        let call = |name: &str, x: f64| real(loaded.function(name).unwrap())(x);
        assert_eq!([call("accumulate", 1.5), call("accumulate", 2.0)], [1.5, 3.5]);
        assert_eq!(call("indirect", 8.0), 16.0);
        assert_eq!(call("power", 2.0), 100.0);
        assert_eq!(call("moved", 3.0), 9.0);
        let branches = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(|x| call("branch", x));
        assert_eq!(branches, [5.0, 14.0, 11.0, 9.0, 1.0, -1.0]);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn kernels_run_through_the_code_trait() {
    // `affine` does not read memory through its argument, so it can be called as a kernel. The test
    // only checks that the call returns.
    let object = Object {
        bytes: sample(true),
        features: Vec::new(),
        kernels: vec![ObjectKernel {
            symbol: "affine".to_owned(),
            scratch: 192,
            keys: Vec::new(),
        }],
        device: None,
    };
    let code = LoadedCode::load(&object, &symbols()).unwrap();
    let args = KernelArgs {
        buffers: std::ptr::null(),
        ints: std::ptr::null(),
        start: 0,
        end: 0,
        scratch: std::ptr::null_mut(),
    };
    // SAFETY: the function does not read memory through its argument.
    unsafe { code.launch(0, &args) };
    assert_eq!(code.scratch_bytes(0), 192);
    assert_eq!(code.object(), Some(&object));
    assert!(!code.is_reference());
}
