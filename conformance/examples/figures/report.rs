//! Lines of figures.

use std::time::Duration;

pub(crate) fn head(text: &str) {
    println!("\n{text}");
}

/// Half of them took no longer.
pub(crate) fn median(costs: Vec<Duration>) -> Duration {
    quantile(costs, 50)
}

pub(crate) fn quantile(mut costs: Vec<Duration>, percent: usize) -> Duration {
    costs.sort_unstable();
    costs[(costs.len() - 1) * percent / 100]
}

pub(crate) fn micros(cost: Duration) -> f64 {
    cost.as_secs_f64() * 1e6
}

/// What something costs at two sizes.
pub(crate) fn ratio(what: &str, sizes: [String; 2], costs: [Duration; 2]) {
    let [small, large] = costs.map(micros);
    let [few, many] = sizes;
    let ratio = large / small;
    println!("{what}: {few}: {small:.1}, {many}: {large:.1}, ratio {ratio:.2}");
}
