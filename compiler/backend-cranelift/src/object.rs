//! Compiles a program to a relocatable object. Linking such an object into an executable does not
//! need a compiler.

use crate::compile::{define, translate};
use crate::isa::{features, host};
use crate::machine::Functions;
use bnnc_abi::code::{Object, ObjectKernel};
use bnnc_base::diagnostics::NO_CODE;
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{BackendOptions, keys};
use bnnc_loops::ir::LoopProgram;
use cranelift_module::default_libcall_names;
use cranelift_object::{ObjectBuilder, ObjectModule};

/// Compiles every kernel of a program. The symbols of the kernels begin with `prefix`.
pub(crate) fn compile(
    program: &LoopProgram,
    options: &BackendOptions,
    prefix: &str,
) -> Result<Object, Fault> {
    let isa = host(&options.form)?;
    let features = features(&*isa);
    let limit =
        |error: &dyn std::fmt::Display| Fault::limit(&NO_CODE, format!("no object can be made: {error}"));
    let builder = ObjectBuilder::new(isa.clone(), &*program.plan.name, default_libcall_names());
    let mut module = ObjectModule::new(builder.map_err(|error| limit(&error))?);
    let functions = Functions::new(isa, translate(&mut module, program, options, Some(prefix))?);
    functions.work_on_threads();
    define(&mut module, &functions)?;
    let bytes = module.finish().emit().map_err(|error| limit(&error))?;
    let kernels = functions.drafts.iter().zip(&program.kernels).enumerate();
    Ok(Object {
        bytes,
        features,
        kernels: kernels
            .map(|(number, (draft, kernel))| ObjectKernel {
                symbol: format!("{prefix}{number}"),
                scratch: draft.scratch,
                keys: keys(kernel),
            })
            .collect(),
        device: None,
    })
}
