//! Convex polytopes inside the unit cube. A polytope can be cut in two, and can be triangulated. It is represented by its vertices, and by the
//! constraints that are tight at each vertex.

/// A polytope with this number of constraints cannot be cut further, because a vertex has one bit for each constraint.
const MOST_CONSTRAINTS: u32 = 128;

/// The maximum number of dimensions of the unit cube.
pub const MOST_DIMENSIONS: usize = 8;

/// A vertex of a polytope.
#[derive(Clone, Debug)]
pub struct Vertex {
    /// The coordinates of the vertex in the unit cube.
    pub point: Vec<f64>,
    /// The constraints that hold with equality at the vertex. Each constraint has one bit.
    pub tight: u128,
}

/// A convex polytope with an interior.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The vertices of the polytope.
    pub vertices: Vec<Vertex>,
}

impl Cell {
    /// Returns the unit cube. Returns `None` if the dimension is above [`MOST_DIMENSIONS`], or if the triangulation of the cube has more than `most`
    /// simplices. The number of simplices is the factorial of the dimension.
    pub fn cube(dimension: usize, most: usize) -> Option<Cell> {
        let simplices: usize = (1..=dimension.min(MOST_DIMENSIONS)).product();
        if dimension > MOST_DIMENSIONS || simplices > most {
            return None;
        }
        let corner = |corner: usize| {
            let high = |side: usize| corner >> side & 1;
            Vertex {
                point: (0..dimension).map(|side| high(side) as f64).collect(),
                tight: (0..dimension).map(|side| 1u128 << (2 * side + high(side))).sum(),
            }
        };
        Some(Cell {
            vertices: (0..1usize << dimension).map(corner).collect(),
        })
    }

    /// Returns the mean of the vertices. It is a point inside the polytope.
    pub fn centre(&self) -> Vec<f64> {
        let count = self.vertices.len() as f64;
        let mean = |side| self.vertices.iter().map(|vertex| vertex.point[side]).sum::<f64>() / count;
        (0..self.vertices[0].point.len()).map(mean).collect()
    }

    /// Cuts the polytope along the zero set of an affine function. `values` are the values of the function at the vertices, some of which must be
    /// positive and some negative. Returns two parts: where the function is not negative, and where it is not positive. Two vertices are joined by an
    /// edge if no third vertex has all of the tight constraints that the two share. Returns `None` if there are more constraints than bits to
    /// represent them.
    pub fn cut(&self, values: &[f64]) -> Option<[Cell; 2]> {
        let used = self
            .vertices
            .iter()
            .fold(0u128, |used, vertex| used | vertex.tight);
        let free = (!used).trailing_zeros();
        if free >= MOST_CONSTRAINTS {
            return None;
        }
        let plane = 1u128 << free;
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for (vertex, &value) in self.vertices.iter().zip(values) {
            if value > 0.0 {
                above.push(vertex.clone());
            } else if value < 0.0 {
                below.push(vertex.clone());
            } else {
                let on = Vertex {
                    point: vertex.point.clone(),
                    tight: vertex.tight | plane,
                };
                above.push(on.clone());
                below.push(on);
            }
        }
        for (high, &top) in values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            for (low, &bottom) in values.iter().enumerate().filter(|(_, value)| **value < 0.0) {
                if self.adjacent(high, low) {
                    let vertex = self.between(high, low, top / (top - bottom), plane);
                    above.push(vertex.clone());
                    below.push(vertex);
                }
            }
        }
        Some([Cell { vertices: above }, Cell { vertices: below }])
    }

    /// Returns whether two vertices of the polytope are joined by an edge.
    fn adjacent(&self, first: usize, second: usize) -> bool {
        let shared = self.vertices[first].tight & self.vertices[second].tight;
        if (shared.count_ones() as usize) < self.vertices[0].point.len() - 1 {
            return false;
        }
        let third = |(index, vertex): (usize, &Vertex)| {
            index != first && index != second && vertex.tight & shared == shared
        };
        !self.vertices.iter().enumerate().any(third)
    }

    /// Returns the vertex at the fraction `part` of an edge, where a new constraint is tight.
    fn between(&self, from: usize, to: usize, part: f64, plane: u128) -> Vertex {
        let (from, to) = (&self.vertices[from], &self.vertices[to]);
        let point = from
            .point
            .iter()
            .zip(&to.point)
            .map(|(from, to)| from + part * (to - from))
            .collect();
        Vertex {
            point,
            tight: from.tight & to.tight | plane,
        }
    }

    /// Triangulates the polytope. Each simplex is a list of indices of vertices. One vertex is joined with the simplices of all facets that do not
    /// contain this vertex (Cohen and Hickey 1979). After about `most` simplices, the remaining simplices are left out.
    pub fn simplices(&self, most: usize) -> Vec<Vec<usize>> {
        let mut simplices = Vec::new();
        let all: Vec<usize> = (0..self.vertices.len()).collect();
        let mut open = vec![(all, Vec::new())];
        while let Some((face, apexes)) = open.pop() {
            let left = self.vertices[0].point.len() - apexes.len();
            if left == 0 || face.len() <= left + 1 {
                if face.len() == left + 1 {
                    simplices.push([apexes, face].concat());
                }
                if simplices.len() > most {
                    break;
                }
                continue;
            }
            let apex = face[0];
            for facet in self.facets(&face) {
                if !facet.contains(&apex) {
                    open.push((facet, [apexes.as_slice(), &[apex]].concat()));
                }
            }
        }
        simplices
    }

    /// Returns the facets of a face. Each constraint that is tight at some but not all vertices of the face gives a set: the vertices at which it is
    /// tight. The facets are those sets that are not part of another such set.
    fn facets(&self, face: &[usize]) -> Vec<Vec<usize>> {
        let tight = |index: &usize| self.vertices[*index].tight;
        let some = face.iter().fold(0u128, |bits, index| bits | tight(index));
        let mut bits = some & !face.iter().fold(u128::MAX, |bits, index| bits & tight(index));
        let mut sets: Vec<Vec<usize>> = Vec::new();
        while bits != 0 {
            let bit = bits & bits.wrapping_neg();
            bits ^= bit;
            sets.push(
                face.iter()
                    .copied()
                    .filter(|index| tight(index) & bit != 0)
                    .collect(),
            );
        }
        sets.sort_by_key(|set| std::cmp::Reverse(set.len()));
        let mut facets: Vec<Vec<usize>> = Vec::new();
        for set in sets {
            let inside = |facet: &Vec<usize>| set.iter().all(|index| facet.contains(index));
            if !facets.iter().any(inside) {
                facets.push(set);
            }
        }
        facets
    }

    /// Returns the volume of a simplex, multiplied by the factorial of the dimension. The simplex is a list of indices of vertices.
    pub fn determinant(&self, simplex: &[usize]) -> f64 {
        let origin = &self.vertices[simplex[0]].point;
        let row = |index: &usize| -> Vec<f64> {
            self.vertices[*index]
                .point
                .iter()
                .zip(origin)
                .map(|(x, o)| x - o)
                .collect()
        };
        determinant(simplex[1..].iter().map(row).collect()).abs()
    }
}

/// Computes a determinant by Gaussian elimination with partial pivoting.
fn determinant(mut rows: Vec<Vec<f64>>) -> f64 {
    let mut product = 1.0;
    for column in 0..rows.len() {
        let size = |row: &usize| rows[*row][column].abs();
        let Some(pivot) = (column..rows.len()).max_by(|a, b| size(a).total_cmp(&size(b))) else {
            return 0.0;
        };
        rows.swap(column, pivot);
        let (done, rest) = rows.split_at_mut(column + 1);
        let lead = &done[column];
        if lead[column] == 0.0 {
            return 0.0;
        }
        product *= lead[column];
        for row in rest {
            let factor = row[column] / lead[column];
            row.iter_mut()
                .zip(lead)
                .skip(column)
                .for_each(|(x, l)| *x -= factor * l);
        }
    }
    product
}
