//! Captures the work of a stream as a graph. The graph can be launched as a whole.

use crate::device::Device;
use crate::driver::{Graph, GraphExec, Stream};
use bnnc_base::fault::Fault;
use std::sync::Arc;

/// A captured graph that can be launched.
pub struct Captured {
    device: Arc<Device>,
    graph: GraphExec,
}

/// A graph that is destroyed when this value is dropped.
struct OwnGraph<'a> {
    device: &'a Device,
    graph: Graph,
}

impl Drop for OwnGraph<'_> {
    fn drop(&mut self) {
        if self.graph != Graph::NONE {
            // SAFETY: the graph was created when a capture ended.
            let _ = unsafe { (self.device.driver().symbols.graph_destroy)(self.graph) };
        }
    }
}

impl Captured {
    /// Captures the work that `issue` enqueues on the stream. The work is not run.
    ///
    /// # Errors
    /// Fails if `issue` fails, or if the driver reports an error. After an error, the capture has
    /// ended.
    pub fn new(
        device: &Arc<Device>,
        stream: Stream,
        issue: impl FnOnce() -> Result<(), Fault>,
    ) -> Result<Captured, Fault> {
        const THIS_THREAD: i32 = 1;
        let symbols = &device.driver().symbols;
        // SAFETY: the stream is alive.
        device.check("cuStreamBeginCapture", unsafe {
            (symbols.capture_begin)(stream, THIS_THREAD)
        })?;
        let issued = issue();
        let mut own = OwnGraph {
            device,
            graph: Graph::NONE,
        };
        // SAFETY: the call writes to `own.graph`. The capture was begun above.
        let ended = unsafe { (symbols.capture_end)(stream, &mut own.graph) };
        // If both calls fail, the error of `issue` is reported, because it is the more informative
        // one.
        issued?;
        device.check("cuStreamEndCapture", ended)?;
        let mut graph = GraphExec::NONE;
        // SAFETY: the graph was captured above. The call writes to `graph`.
        device.check("cuGraphInstantiateWithFlags", unsafe {
            (symbols.graph_instantiate)(&mut graph, own.graph, 0)
        })?;
        Ok(Captured {
            device: device.clone(),
            graph,
        })
    }

    /// Enqueues the whole graph on a stream as one operation.
    pub fn launch(&self, stream: Stream) -> Result<(), Fault> {
        // SAFETY: the graph is alive, and so is everything that the captured work uses.
        self.device.check("cuGraphLaunch", unsafe {
            (self.device.driver().symbols.graph_launch)(self.graph, stream)
        })
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        let _ = self.device.enter();
        // SAFETY: the graph was instantiated in `new`. The owner of the graph has waited for the
        // work that uses it.
        let _ = unsafe { (self.device.driver().symbols.graph_exec_destroy)(self.graph) };
    }
}
