//! A linear support vector machine: squared hinge loss with L2 regularisation, by dual coordinate descent (Hsieh et al., ICML 2008).
//!
//! Our own, because the table has to come out byte for byte on every machine: here are sums and products in a fixed order and nothing else, while the
//! libraries that do this hand them to kernels which the processor chooses.

use crate::stats::Chance;

/// A pass in which nothing was further than this from its optimum was the last.
const SETTLED: f32 = 0.02;
/// What is closer to its optimum is left alone.
const CLOSE: f32 = 1e-5;

/// An example.
#[derive(Clone, Debug)]
pub struct Example {
    /// Number and value of each feature.
    pub features: Vec<(u32, f32)>,
    /// Which side it belongs to.
    pub attack: bool,
    /// Cost of being on the wrong one.
    pub cost: f32,
}

/// Weights of `dimensions` features and the bias, which is one more feature of value 1.
pub fn train(examples: &[Example], dimensions: usize, passes: usize, chance: &mut Chance) -> (Vec<f32>, f32) {
    let mut weights = vec![0.0_f32; dimensions];
    let mut bias = 0.0_f32;
    let mut duals = vec![0.0_f32; examples.len()];
    let squares: Vec<f32> =
        examples.iter().map(|example| example.features.iter().map(|(_, value)| value * value).sum::<f32>() + 1.0).collect();
    let mut order: Vec<usize> = (0..examples.len()).collect();
    for _ in 0..passes {
        chance.shuffle(&mut order);
        let mut furthest = 0.0_f32;
        for &number in &order {
            let example = &examples[number];
            let side = if example.attack { 1.0 } else { -1.0 };
            let loss = 0.5 / example.cost;
            let margin = example.features.iter().fold(bias, |sum, (feature, value)| sum + weights[*feature as usize] * value);
            let gradient = side * margin - 1.0 + loss * duals[number];
            let projected = if duals[number] == 0.0 { gradient.min(0.0) } else { gradient };
            furthest = furthest.max(projected.abs());
            if projected.abs() < CLOSE {
                continue;
            }
            let next = (duals[number] - gradient / (squares[number] + loss)).max(0.0);
            let step = (next - duals[number]) * side;
            duals[number] = next;
            bias += step;
            for (feature, value) in &example.features {
                weights[*feature as usize] += step * value;
            }
        }
        if furthest < SETTLED {
            break;
        }
    }
    (weights, bias)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(features: &[(u32, f32)], attack: bool, cost: f32) -> Example {
        Example { features: features.to_vec(), attack, cost }
    }

    #[test]
    fn one_example_a_side_has_a_closed_form() {
        // By symmetry the bias is 0 and w = (v, 0); v minimises v^2 / 2 + 2 C (1 - v)^2, so v = 4 C / (1 + 4 C).
        for cost in [0.1, 1.0, 10.0] {
            let examples = [example(&[(0, 1.0)], true, cost), example(&[(0, -1.0)], false, cost)];
            let (weights, bias) = train(&examples, 2, 400, &mut Chance::new(1));
            let expected = 4.0 * cost / (1.0 + 4.0 * cost);
            assert!((weights[0] - expected).abs() < 0.01 && bias.abs() < 0.01 && weights[1] == 0.0, "{weights:?} {bias}, not {expected}");
        }
    }

    #[test]
    fn what_can_be_told_apart_is() {
        let mut chance = Chance::new(3);
        let examples: Vec<Example> = (0..200)
            .map(|number| {
                let attack = number % 2 == 0;
                let noise = chance.below(100) as f32 / 100.0;
                example(&[(0, if attack { 1.0 } else { -1.0 }), (1, noise), (2, 1.0 - noise)], attack, 1.0)
            })
            .collect();
        let (weights, bias) = train(&examples, 3, 100, &mut chance);
        let margin =
            |example: &Example| example.features.iter().map(|(feature, value)| weights[*feature as usize] * value).sum::<f32>() + bias;
        assert!(examples.iter().all(|example| (margin(example) > 0.0) == example.attack));
    }
}
