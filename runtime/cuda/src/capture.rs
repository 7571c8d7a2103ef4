//! Work of a stream captured as a graph, to be launched as one.

use crate::device::Device;
use crate::driver::{Graph, GraphExec, Stream};
use bnnc_base::fault::Fault;
use std::sync::Arc;

/// A graph that can be launched.
pub struct Captured {
    device: Arc<Device>,
    graph: GraphExec,
}

/// Ends a graph's life.
struct OwnGraph<'a> {
    device: &'a Device,
    graph: Graph,
}

impl Drop for OwnGraph<'_> {
    fn drop(&mut self) {
        if self.graph != Graph::NONE {
            // SAFETY: made by the end of a capture.
            let _ = unsafe { (self.device.driver().symbols.graph_destroy)(self.graph) };
        }
    }
}

impl Captured {
    /// Captures what `issue` asks the stream for; nothing of it runs.
    ///
    /// # Errors
    /// What `issue` returns, or where the driver refuses; the stream is as before then.
    pub fn new(
        device: &Arc<Device>,
        stream: Stream,
        issue: impl FnOnce() -> Result<(), Fault>,
    ) -> Result<Captured, Fault> {
        const THIS_THREAD: i32 = 1;
        let symbols = &device.driver().symbols;
        // SAFETY: the stream lives.
        device.check("cuStreamBeginCapture", unsafe {
            (symbols.capture_begin)(stream, THIS_THREAD)
        })?;
        let issued = issue();
        let mut own = OwnGraph {
            device,
            graph: Graph::NONE,
        };
        // SAFETY: the call writes to the place; a capture has begun above.
        let ended = unsafe { (symbols.capture_end)(stream, &mut own.graph) };
        // What went wrong first says more.
        issued?;
        device.check("cuStreamEndCapture", ended)?;
        let mut graph = GraphExec::NONE;
        // SAFETY: the graph was captured above, and the call writes to the place.
        device.check("cuGraphInstantiateWithFlags", unsafe {
            (symbols.graph_instantiate)(&mut graph, own.graph, 0)
        })?;
        Ok(Captured {
            device: device.clone(),
            graph,
        })
    }

    /// Asks a stream for all of it.
    pub fn launch(&self, stream: Stream) -> Result<(), Fault> {
        // SAFETY: the graph lives, and so does what it was captured from.
        self.device.check("cuGraphLaunch", unsafe {
            (self.device.driver().symbols.graph_launch)(self.graph, stream)
        })
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        let _ = self.device.enter();
        // SAFETY: instantiated in `new`; its owner has waited for what uses it.
        let _ = unsafe { (self.device.driver().symbols.graph_exec_destroy)(self.graph) };
    }
}
