//! A partition of tasks into groups, with an order of these groups.
//!
//! Note [Positions]. Each group has a position, such that every group precedes the groups that must
//! follow it. A path from one group to another then leads only through groups whose positions lie
//! between those of the two, so that a search visits few groups even if the function is long. A merge
//! changes only positions between those of the two groups. This is the algorithm of Pearce and Kelly (A
//! Dynamic Topological Sort Algorithm for Directed Acyclic Graphs, ACM JEA 11, 2006), for merges in
//! place of new edges.

use petgraph::graph::{DiGraph, NodeIndex};

/// Groups of tasks that can be merged. The order of the groups follows from the order of their
/// tasks.
pub struct Partition {
    /// The group of each task.
    of: Vec<usize>,
    /// The tasks of each group. The list is empty if the group was merged into another group.
    members: Vec<Vec<usize>>,
    /// For each group, the tasks that must follow one of its tasks (first list), and the tasks that
    /// must precede one (second list).
    edges: [Vec<Vec<usize>>; 2],
    /// The position of each group, see Note [Positions]. The positions of groups that were merged into
    /// others are not used. The list is empty before [`Partition::place`].
    position: Vec<usize>,
    /// For each group, the number of the last search that reached it from the front, and of the
    /// last one from the back.
    seen: [Vec<u32>; 2],
    search: u32,
}

/// The two directions along the order.
const LATER: usize = 0;
const EARLIER: usize = 1;

impl Partition {
    /// Creates a partition with one group per task. For each task, `after` has the tasks that must follow it.
    pub fn new(after: Vec<Vec<usize>>) -> Partition {
        let count = after.len();
        let mut before = vec![Vec::new(); count];
        for (task, later) in after.iter().enumerate() {
            later.iter().for_each(|later| before[*later].push(task));
        }
        Partition {
            of: (0..count).collect(),
            members: (0..count).map(|task| vec![task]).collect(),
            edges: [after, before],
            position: Vec::new(),
            seen: [vec![0; count], vec![0; count]],
            search: 0,
        }
    }

    /// Returns the group of a task.
    pub fn of(&self, task: usize) -> usize {
        self.of[task]
    }

    /// Returns the tasks of a group. The list is empty if the group was merged into another group.
    pub fn members(&self, group: usize) -> &[usize] {
        &self.members[group]
    }

    /// Returns the groups that have tasks. A group that was merged into another group does not have
    /// tasks.
    pub fn groups(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.members.len()).filter(|group| !self.members[*group].is_empty())
    }

    /// Returns the groups that must follow `group`. A group occurs once for each pair of tasks that
    /// requires this order.
    pub fn successors(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        let groups = self.edges[LATER][group].iter().map(|task| self.of[*task]);
        groups.filter(move |other| *other != group)
    }

    /// Gives the groups positions in this order. Each group must precede its successors.
    pub fn place(&mut self, order: &[usize]) {
        self.position = vec![0; self.of.len()];
        for (position, group) in order.iter().enumerate() {
            self.position[*group] = position;
        }
    }

    /// Merges the tasks of `right` into `left`. If the groups have positions, there must not be a path
    /// between the two through a third group.
    pub fn merge(&mut self, left: usize, right: usize) {
        if !self.position.is_empty() {
            self.replace(left, right);
        }
        let moved = std::mem::take(&mut self.members[right]);
        moved.iter().for_each(|task| self.of[*task] = left);
        self.members[left].extend(moved);
        for edges in &mut self.edges {
            let moved = std::mem::take(&mut edges[right]);
            edges[left].extend(moved);
        }
    }

    /// Gives `left` a position that fits after `right` is merged into it. Between the positions of the
    /// two, the groups that must precede one of them move to the front, and those that must follow one
    /// of them move to the back.
    fn replace(&mut self, left: usize, right: usize) {
        let (first, last) = match self.position[left] < self.position[right] {
            true => (left, right),
            false => (right, left),
        };
        let later = self.between(first, last, LATER);
        let earlier = match later.is_empty() {
            true => Vec::new(),
            false => self.between(first, last, EARLIER),
        };
        if later.is_empty() || earlier.is_empty() {
            let end = if later.is_empty() { last } else { first };
            self.position[left] = self.position[end];
            return;
        }
        let moved = earlier.iter().chain([&first, &last]).chain(&later);
        let mut free: Vec<usize> = moved.map(|group| self.position[*group]).collect();
        free.sort_unstable();
        let back = free.split_off(earlier.len() + 2);
        for (group, position) in earlier.iter().chain([&left]).zip(free) {
            self.position[*group] = position;
        }
        for (group, position) in later.iter().zip(back) {
            self.position[*group] = position;
        }
    }

    /// Returns the groups with positions between those of `first` and `last` that must follow `first`
    /// (if `way` is [`LATER`]), or that must precede `last` (if `way` is [`EARLIER`]), in the order of
    /// their positions.
    fn between(&mut self, first: usize, last: usize, way: usize) -> Vec<usize> {
        self.search += 1;
        let mut reached = vec![[first, last][way]];
        let mut next = 0;
        while let Some(group) = reached.get(next).copied() {
            next += 1;
            self.advance(group, (first, last), way, &mut reached);
        }
        reached.remove(0);
        reached.sort_unstable_by_key(|group| self.position[*group]);
        reached
    }

    /// Returns whether a path from `left` to `right` leads through a third group. The search
    /// alternates between both ends. It therefore takes at most about twice as long as a search
    /// from the better end, which is the one from which fewer groups can be reached.
    pub fn detour(&mut self, left: usize, right: usize) -> bool {
        if self.position[left] > self.position[right] {
            return false;
        }
        self.search += 1;
        let mut reached = [vec![left], vec![right]];
        let mut next = [0, 0];
        loop {
            for way in [LATER, EARLIER] {
                let Some(group) = reached[way].get(next[way]).copied() else {
                    return false;
                };
                next[way] += 1;
                if self.advance(group, (left, right), way, &mut reached[way]) {
                    return true;
                }
            }
        }
    }

    /// Appends the neighbours of a group that lie between `first` and `last` and that this search has
    /// not reached before. Returns whether a neighbour was reached by the search from the other end.
    fn advance(
        &mut self,
        group: usize,
        (first, last): (usize, usize),
        way: usize,
        reached: &mut Vec<usize>,
    ) -> bool {
        let (here, there) = (way, LATER + EARLIER - way);
        let between = self.position[first] + 1..self.position[last];
        for task in &self.edges[way][group] {
            let other = self.of[*task];
            if !between.contains(&self.position[other]) || self.seen[here][other] == self.search {
                continue;
            }
            if self.seen[there][other] == self.search {
                return true;
            }
            self.seen[here][other] = self.search;
            reached.push(other);
        }
        false
    }

    /// Returns the sets of groups that depend on each other in a circle: in such a set, each group
    /// would have to precede all others. The groups of each set are sorted.
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        let edges = self.groups().flat_map(|group| {
            let next = self.successors(group);
            next.map(move |next| (group as u32, next as u32))
        });
        let graph = DiGraph::<(), (), u32>::from_edges(edges);
        let components = petgraph::algo::tarjan_scc(&graph).into_iter();
        let cycles = components.filter(|component| component.len() > 1);
        let sorted = |component: Vec<NodeIndex>| {
            let mut groups: Vec<usize> = component.into_iter().map(NodeIndex::index).collect();
            groups.sort_unstable();
            groups
        };
        cycles.map(sorted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_math::philox;

    /// Returns a partition of `count` tasks with a random order. Each edge leads from a lower
    /// number to a higher number.
    fn random(seed: u64, count: usize, edges: usize) -> Partition {
        let key = philox::key(seed, "order");
        let pick = |at: usize| (philox::uniform(key, [0, 0, 0], at as u64) * count as f64) as usize;
        let mut after = vec![Vec::new(); count];
        for edge in 0..edges {
            let (from, to) = (pick(2 * edge), pick(2 * edge + 1));
            if from != to {
                after[from.min(to)].push(from.max(to));
            }
        }
        let mut partition = Partition::new(after);
        partition.place(&(0..count).collect::<Vec<_>>());
        partition
    }

    /// Returns whether `right` can be reached from a successor of `left` other than `right`. This
    /// is the definition of a detour.
    fn reaches(partition: &Partition, left: usize, right: usize) -> bool {
        let mut open: Vec<usize> = partition.successors(left).filter(|next| *next != right).collect();
        let mut seen = std::collections::HashSet::new();
        while let Some(next) = open.pop() {
            if next == right {
                return true;
            }
            if seen.insert(next) {
                open.extend(partition.successors(next));
            }
        }
        false
    }

    /// Returns whether every group precedes its successors.
    fn is_ordered(partition: &Partition) -> bool {
        partition.groups().all(|group| {
            let mut later = partition.successors(group);
            later.all(|next| partition.position[group] < partition.position[next])
        })
    }

    #[test]
    fn detours_agree_with_a_plain_search_while_groups_merge() {
        for seed in 0..20 {
            let mut partition = random(seed, 40, 60);
            for left in 0..40 {
                for right in 0..40 {
                    let live = !partition.members(left).is_empty() && !partition.members(right).is_empty();
                    if left == right || !live {
                        continue;
                    }
                    let expected = [reaches(&partition, left, right), reaches(&partition, right, left)];
                    let found = [partition.detour(left, right), partition.detour(right, left)];
                    assert_eq!(found, expected, "seed {seed}, {left} and {right}");
                    if found == [false, false] && (left * 7 + right * 3) % 5 == 0 {
                        partition.merge(left, right);
                        assert!(is_ordered(&partition), "seed {seed}, {left} and {right}");
                    }
                }
            }
        }
    }

    #[test]
    fn cycles_are_the_groups_that_reach_each_other() {
        let after = vec![
            vec![1],
            vec![2, 5],
            vec![0, 3],
            vec![4],
            vec![3, 6],
            vec![],
            vec![6],
        ];
        let partition = Partition::new(after);
        let mut cycles = partition.cycles();
        cycles.sort();
        assert_eq!(cycles, [vec![0, 1, 2], vec![3, 4]]);
    }
}
