//! Elaborates the ends of a distribution's support and the decay of the density at these ends, as
//! the distribution declares them. For a mixture, its components declare them.

use super::{InstanceBuilder, own_support};
use crate::diagnostics::elaborate::limit;
use crate::elaborate::datum::{Datum, DistDatum};
use crate::elaborate::frame::{Elaborated, Frame};
use crate::tree::{DistItem, TypedExpr};
use bnnc_graph::dist::{DeclaredEnd, DeclaredTail, Reach};
use bnnc_graph::function::Function;
use std::rc::Rc;
use std::sync::Arc;

impl<'a> InstanceBuilder<'_, 'a, '_> {
    /// Returns the ends of the support and the tails of each component.
    pub(super) fn reach(&mut self) -> Elaborated<Vec<Reach>> {
        let mut found = Vec::new();
        self.components(self.dist, &mut Vec::new(), &mut found)?;
        Ok(found)
    }

    /// Adds the components of the distribution at `path`. Each number in the path is the index of an argument.
    fn components(
        &mut self,
        dist: &DistDatum,
        path: &mut Vec<usize>,
        found: &mut Vec<Reach>,
    ) -> Elaborated<()> {
        let item: &'a DistItem = &self.elaborator.module.dists[dist.dist];
        if item.mixture {
            for (at, arg) in dist.args.iter().enumerate() {
                if let Datum::Dist(inner) = arg {
                    path.push(at);
                    self.components(inner, path, found)?;
                    path.pop();
                }
            }
            return Ok(());
        }
        let mut ends = [DeclaredEnd::default(), DeclaredEnd::default()];
        for (end, declared) in ends.iter_mut().zip(&item.ends) {
            end.at = match &declared.at {
                Some(at) => Some(self.number(item, at, path)?),
                None => None,
            };
            let Some((kind, numbers)) = &declared.tail else {
                continue;
            };
            let mut functions = Vec::new();
            for value in numbers {
                functions.push(self.number(item, value, path)?);
            }
            end.tail = Some(DeclaredTail {
                kind: *kind,
                numbers: functions,
            });
        }
        found.push(Reach {
            support: own_support(item),
            ends,
        });
        Ok(())
    }

    /// Elaborates a number that the distribution at `path` declares. The result is a function of
    /// the parameters.
    fn number(
        &mut self,
        item: &'a DistItem,
        value: &'a TypedExpr,
        path: &[usize],
    ) -> Elaborated<Arc<Function>> {
        let function = self.function("number", |this, frame| {
            let datum = match path {
                [] => this.elaborator.expr(value, frame)?,
                [first, rest @ ..] => {
                    let mut inner = this.inner(*first, frame)?;
                    for at in rest {
                        let Datum::Dist(next) = &inner.args[*at] else {
                            return Ok(None);
                        };
                        inner = next.clone();
                    }
                    let mut frame = this.elaborator.dist_frame(item, &inner, this.span)?;
                    this.elaborator.expr(value, &mut frame)?
                }
            };
            this.elaborator.real(&datum, this.span).map(Some)
        })?;
        function.ok_or_else(|| limit(self.span, "no number"))
    }

    /// Returns the distribution that is the argument at this position.
    fn inner(&self, at: usize, frame: &Frame<'a>) -> Elaborated<Rc<DistDatum>> {
        let found = self
            .item()
            .params
            .get(at)
            .and_then(|binding| frame.values.get(&binding.local));
        match found {
            Some(Datum::Dist(inner)) => Ok(inner.clone()),
            _ => Err(limit(self.span, "this is not a distribution")),
        }
    }
}
