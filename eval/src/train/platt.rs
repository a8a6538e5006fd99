//! The sigmoid from margins to scores (Platt 1999), fitted by Newton's method with the smoothed targets of Lin, Lin and Weng (2007).

use floodmark_core::detector::Platt;

/// A margin with its label and weight.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub margin: f64,
    pub attack: bool,
    pub weight: f64,
}

/// More steps than Newton's method ever takes here.
const STEPS: usize = 100;
/// A step that changes the parameters by less is the last.
const SETTLED: f64 = 1e-10;
/// Keeps the system solvable where all margins are alike.
const RIDGE: f64 = 1e-12;

/// The sigmoid under which the labels are likeliest; both labels count alike, whatever their numbers.
pub fn fit(points: &[Point]) -> Platt {
    let sum = |attack: bool| points.iter().filter(|point| point.attack == attack).map(|point| point.weight).sum::<f64>();
    let number = |attack: bool| points.iter().filter(|point| point.attack == attack).count() as f64;
    let (sums, numbers) = ([sum(false), sum(true)], [number(false), number(true)]);
    // (weight, target, margin); each label's weights add up to 1.
    let rows: Vec<(f64, f64, f64)> = points
        .iter()
        .map(|point| {
            let label = usize::from(point.attack);
            let sure = (numbers[label] + 1.0) / (numbers[label] + 2.0);
            (point.weight / sums[label], if point.attack { sure } else { 1.0 - sure }, point.margin)
        })
        .collect();
    let mut at = Platt { slope: 0.0, offset: 0.0 };
    let mut loss = loss_of(&rows, at);
    for _ in 0..STEPS {
        let (mut gradient, mut hessian) = ([0.0; 2], [RIDGE, 0.0, RIDGE]);
        for (weight, target, margin) in &rows {
            let score = at.score(*margin);
            let (off, bend) = (weight * (score - target), weight * score * (1.0 - score));
            gradient = [gradient[0] + off * margin, gradient[1] + off];
            hessian = [hessian[0] + bend * margin * margin, hessian[1] + bend * margin, hessian[2] + bend];
        }
        let determinant = hessian[0] * hessian[2] - hessian[1] * hessian[1];
        let step = [
            (hessian[2] * gradient[0] - hessian[1] * gradient[1]) / determinant,
            (hessian[0] * gradient[1] - hessian[1] * gradient[0]) / determinant,
        ];
        let mut length = 1.0;
        let mut next = at;
        while length > 1e-6 {
            next = Platt { slope: at.slope - length * step[0], offset: at.offset - length * step[1] };
            if loss_of(&rows, next) <= loss {
                break;
            }
            length /= 2.0;
        }
        let moved = (next.slope - at.slope).abs().max((next.offset - at.offset).abs());
        (at, loss) = (next, loss_of(&rows, next));
        if moved < SETTLED {
            break;
        }
    }
    at
}

/// The weighted cross entropy.
fn loss_of(rows: &[(f64, f64, f64)], platt: Platt) -> f64 {
    // log(1 + exp(x)) without overflow.
    let softplus = |x: f64| x.max(0.0) + libm::log1p(libm::exp(-x.abs()));
    let one = |(weight, target, margin): &(f64, f64, f64)| {
        let x = platt.slope * margin + platt.offset;
        weight * (softplus(x) - target * x)
    };
    rows.iter().map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_margins_have_a_closed_form() {
        // At each margin the best score is the share of attacks there, and two parameters reach both: 40 of 50 at 1, 10 of 50 at -1.
        let points =
            |margin: f64, attacks: usize, all: usize| (0..all).map(move |number| Point { margin, attack: number < attacks, weight: 1.0 });
        let all: Vec<Point> = points(1.0, 40, 50).chain(points(-1.0, 10, 50)).collect();
        let found = fit(&all);
        // Smoothed: 50 attacks count as 51/52, 50 benign as 1/52 of an attack.
        let share = |attacks: f64| (attacks * 51.0 + (50.0 - attacks)) / (50.0 * 52.0);
        assert!((found.score(1.0) - share(40.0)).abs() < 1e-6, "{found:?}");
        assert!((found.score(-1.0) - share(10.0)).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn labels_count_alike_whatever_their_numbers() {
        let mut all: Vec<Point> = (0..900).map(|_| Point { margin: 0.0, attack: false, weight: 1.0 }).collect();
        all.extend((0..100).map(|_| Point { margin: 0.0, attack: true, weight: 1.0 }));
        assert!((fit(&all).score(0.0) - 0.5).abs() < 0.01);
    }
}
