//! The core's figures in the text format of Prometheus (version 0.0.4).

use std::fmt::Write;

use ackord_coord_core::metrics::{MetricFamily, MetricKind, Sample, SampleValue};

/// What goes into the header `Content-Type`.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page of `families`; those without a sample are left out.
pub(crate) fn render(families: &[MetricFamily]) -> String {
    let mut page = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let kind = match family.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let name = family.name;
        // Writing to a String cannot fail.
        let _ = writeln!(page, "# HELP {name} {}", escaped(family.help));
        let _ = writeln!(page, "# TYPE {name} {kind}");
        for sample in &family.samples {
            write_sample(&mut page, name, sample);
        }
    }
    page
}

fn write_sample(page: &mut String, name: &str, sample: &Sample) {
    match &sample.value {
        SampleValue::Number(number) => {
            let _ = writeln!(page, "{name}{} {number}", labels(sample, None));
        }
        SampleValue::Distribution(histogram) => {
            for (bound, count) in histogram.cumulative() {
                let bound = bound.map_or("+Inf".to_owned(), |bound| bound.to_string());
                let labels = labels(sample, Some(&bound));
                let _ = writeln!(page, "{name}_bucket{labels} {count}");
            }
            let labels = labels(sample, None);
            let _ = writeln!(page, "{name}_sum{labels} {}", histogram.sum_ms());
            let _ = writeln!(page, "{name}_count{labels} {}", histogram.count());
        }
    }
}

fn labels(sample: &Sample, bound: Option<&str>) -> String {
    let own = sample
        .labels
        .iter()
        .map(|(name, value)| (*name, value.as_str()));
    let all = own.chain(bound.map(|bound| ("le", bound)));
    let pairs: Vec<String> = all
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value).replace('"', "\\\"")))
        .collect();
    if pairs.is_empty() {
        String::new()
    } else {
        format!("{{{}}}", pairs.join(","))
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use ackord_coord_core::metrics::Histogram;

    use super::*;

    #[test]
    fn every_kind_is_written_as_prometheus_reads_it() {
        let mut gauge = MetricFamily::new(MetricKind::Gauge, "a_gauge", "Says\nsomething.");
        gauge.push(vec![("group", "say \"\\\"\n".to_owned())], -1);
        let mut histogram = Histogram::default();
        histogram.observe(3);
        let families = [
            gauge,
            MetricFamily::new(MetricKind::Counter, "no_samples", "Left out."),
            MetricFamily::new(MetricKind::Histogram, "a_time_ms", "Takes time.")
                .distribution(&histogram),
        ];
        let page = render(&families);
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!(lines[0], "# HELP a_gauge Says\\nsomething.");
        assert_eq!(lines[1], "# TYPE a_gauge gauge");
        assert_eq!(lines[2], r#"a_gauge{group="say \"\\\"\n"} -1"#);
        assert_eq!(lines[4], "# TYPE a_time_ms histogram");
        assert_eq!(lines[6], r#"a_time_ms_bucket{le="2"} 0"#);
        assert_eq!(lines[7], r#"a_time_ms_bucket{le="5"} 1"#);
        assert_eq!(lines[17], r#"a_time_ms_bucket{le="+Inf"} 1"#);
        assert_eq!(lines[18..], ["a_time_ms_sum 3", "a_time_ms_count 1"]);
    }
}
