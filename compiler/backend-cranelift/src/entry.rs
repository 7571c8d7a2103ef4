//! The entry object of an executable. The object contains `main`, the serialised program, and small
//! functions that let kernels call the runtime.

use crate::call::{noise_parameters, scalar_parameters, signature};
use crate::compile::bug;
use crate::isa::host;
use bnnc_abi::artefact::{LINKED_ENTRY, Linked};
use bnnc_abi::symbols::{Callable, callables};
use bnnc_base::diagnostics::NO_CODE;
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{CodePlacement, ObjectFormat};
use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, Signature, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{DataDescription, DataId, Linkage, Module, default_libcall_names};
use cranelift_object::{ObjectBuilder, ObjectModule};
use std::mem::offset_of;

/// Builds an object in the system's format. Linked with the static library of the runtime and the
/// objects of a program, this object gives an executable.
///
/// The object contains the artefact and a table of `kernels`. The entries of the table are symbols
/// in the objects of the program. For each runtime function that kernels call, the object has a
/// cell, and a function with the name of the runtime function that jumps to the address in the
/// cell. The cell is needed because the runtime chooses among versions of a function at
/// startup. `main` passes the artefact, the table and the cells to the runtime as one [`Linked`].
///
/// # Errors
/// Fails if a limit of the object format is exceeded, or because of a bug.
pub fn entry(artefact: &[u8], kernels: &[String]) -> Result<Vec<u8>, Fault> {
    let form = CodePlacement::Object {
        prefix: String::new(),
        format: ObjectFormat::Native,
    };
    let limit =
        |error: &dyn std::fmt::Display| Fault::limit(&NO_CODE, format!("no object can be made: {error}"));
    let builder = ObjectBuilder::new(host(&form)?, "entry", default_libcall_names());
    let mut writer = Writer {
        module: ObjectModule::new(builder.map_err(|error| limit(&error))?),
        functions: FunctionBuilderContext::new(),
    };
    let artefact = (writer.constant("bnnc_artefact", artefact)?, artefact.len());
    let kernels = (writer.table(kernels)?, kernels.len());
    let functions = writer.cells(callables().count())?;
    for (at, (callable, precision)) in callables().enumerate() {
        let parameters = match callable {
            Callable::Scalar(scalar) => scalar_parameters(scalar.arity()),
            Callable::Noise(_) => noise_parameters(),
        };
        let signature = signature(writer.module.make_signature(), &parameters);
        writer.bridge(&callable.symbol(precision), signature, (functions, at))?;
    }
    let linked = writer.linked(artefact, kernels, (functions, callables().count()))?;
    writer.main(linked)?;
    writer.module.finish().emit().map_err(|error| limit(&error))
}

struct Writer {
    module: ObjectModule,
    functions: FunctionBuilderContext,
}

impl Writer {
    fn data(&mut self, name: &str, writable: bool, data: &mut DataDescription) -> Result<DataId, Fault> {
        data.set_align(16);
        let id = self.module.declare_data(name, Linkage::Local, writable, false);
        let id = id.map_err(bug)?;
        self.module.define_data(id, data).map_err(bug)?;
        Ok(id)
    }

    fn constant(&mut self, name: &str, bytes: &[u8]) -> Result<DataId, Fault> {
        let mut data = DataDescription::new();
        data.define(bytes.into());
        self.data(name, false, &mut data)
    }

    /// Writes a table with the addresses of functions in other objects.
    fn table(&mut self, symbols: &[String]) -> Result<DataId, Fault> {
        let mut data = DataDescription::new();
        data.define(vec![0; 8 * symbols.len().max(1)].into());
        let signature = signature(self.module.make_signature(), &[types::I64]);
        for (at, symbol) in symbols.iter().enumerate() {
            let function = self.module.declare_function(symbol, Linkage::Import, &signature);
            let reference = self
                .module
                .declare_func_in_data(function.map_err(bug)?, &mut data);
            data.write_function_addr(8 * at as u32, reference);
        }
        self.data("bnnc_kernels", false, &mut data)
    }

    fn cells(&mut self, count: usize) -> Result<DataId, Fault> {
        let mut data = DataDescription::new();
        data.define_zeroinit(8 * count);
        self.data("bnnc_functions", true, &mut data)
    }

    fn linked(
        &mut self,
        artefact: (DataId, usize),
        kernels: (DataId, usize),
        functions: (DataId, usize),
    ) -> Result<DataId, Fault> {
        let parts = [
            (artefact, offset_of!(Linked, artefact), offset_of!(Linked, bytes)),
            (
                kernels,
                offset_of!(Linked, kernels),
                offset_of!(Linked, kernel_count),
            ),
            (
                functions,
                offset_of!(Linked, functions),
                offset_of!(Linked, function_count),
            ),
        ];
        let mut bytes = vec![0; size_of::<Linked>()];
        for ((_, count), _, at) in parts {
            bytes[at..at + 8].copy_from_slice(&(count as u64).to_le_bytes());
        }
        let mut data = DataDescription::new();
        data.define(bytes.into());
        for ((target, _), at, _) in parts {
            let reference = self.module.declare_data_in_data(target, &mut data);
            data.write_data_addr(at as u32, reference, 0);
        }
        self.data("bnnc_linked", false, &mut data)
    }

    /// Defines a function that jumps to the address in a cell.
    fn bridge(
        &mut self,
        symbol: &str,
        signature: Signature,
        (cells, at): (DataId, usize),
    ) -> Result<(), Fault> {
        self.function(symbol, signature.clone(), |module, builder, parameters| {
            let cells = module.declare_data_in_func(cells, builder.func);
            let cells = builder.ins().symbol_value(types::I64, cells);
            let target = builder
                .ins()
                .load(types::I64, MemFlagsData::trusted(), cells, 8 * at as i32);
            let signature = builder.import_signature(signature);
            builder.ins().call_indirect(signature, target, parameters);
            builder.ins().return_(&[]);
            Ok(())
        })
    }

    fn main(&mut self, linked: DataId) -> Result<(), Fault> {
        let mut main = signature(self.module.make_signature(), &[types::I32, types::I64]);
        main.returns.push(AbiParam::new(types::I32));
        let mut entry = main.clone();
        entry.params.push(AbiParam::new(types::I64));
        self.function("main", main, |module, builder, parameters| {
            let entry = module
                .declare_function(LINKED_ENTRY, Linkage::Import, &entry)
                .map_err(bug)?;
            let entry = module.declare_func_in_func(entry, builder.func);
            let linked = module.declare_data_in_func(linked, builder.func);
            let linked = builder.ins().symbol_value(types::I64, linked);
            let call = builder.ins().call(entry, &[parameters[0], parameters[1], linked]);
            let status = builder.inst_results(call)[0];
            builder.ins().return_(&[status]);
            Ok(())
        })
    }

    fn function(
        &mut self,
        symbol: &str,
        signature: Signature,
        body: impl FnOnce(&mut ObjectModule, &mut FunctionBuilder<'_>, &[Value]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut context = self.module.make_context();
        let function = self.module.declare_function(symbol, Linkage::Export, &signature);
        context.func.signature = signature;
        let mut builder = FunctionBuilder::new(&mut context.func, &mut self.functions);
        let block = builder.create_block();
        builder.append_block_params_for_function_params(block);
        builder.switch_to_block(block);
        let parameters = builder.block_params(block).to_vec();
        body(&mut self.module, &mut builder, &parameters)?;
        builder.seal_all_blocks();
        builder.finalize(self.module.target_config());
        self.module
            .define_function(function.map_err(bug)?, &mut context)
            .map_err(bug)
    }
}
