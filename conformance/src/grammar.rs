//! Reading scripts: lines, steps, facts. The verbs of clients are in [`crate::verbs`].

use ackord_machine::StorageFault;
use ackord_proto::error_code::ErrorCode;

use crate::consumer_groups;
use crate::script::{
    AcquiredSpan, AppendFault, Expected, Fact, Keep, Line, Pairs, Script, StateItem, Step,
    StorageStep, TopicPartition,
};
use crate::verbs;

/// What a comment begins with that says why a script does not hold on Apache Kafka.
const NOT_ON_KAFKA: &str = "kafka: no,";

/// Reads a whole script.
pub(crate) fn script(text: &str) -> Result<Script, String> {
    let mut script = Script {
        title: String::new(),
        not_on_kafka: None,
        lines: Vec::new(),
    };
    for (number, line) in (1..).zip(text.lines()) {
        let (code, comment) = match line.split_once('#') {
            Some((code, comment)) => (code, Some(comment)),
            None => (line, None),
        };
        match comment.map(str::trim) {
            Some(comment) if script.title.is_empty() => script.title = comment.to_string(),
            Some(comment) => {
                if let Some(reason) = comment.strip_prefix(NOT_ON_KAFKA) {
                    script.not_on_kafka = Some(reason.trim().to_string());
                }
            }
            None => {}
        }
        for text in code
            .split(" ; ")
            .map(str::trim)
            .filter(|text| !text.is_empty())
        {
            let step = step(text).map_err(|error| format!("line {number}, `{text}`: {error}"))?;
            script.lines.push(Line {
                number,
                text: text.to_string(),
                step,
            });
        }
    }
    if script.title.is_empty() {
        return Err("the first comment has to be the title".to_string());
    }
    Ok(script)
}

/// Words of a step, taken one by one.
#[derive(Debug)]
pub(crate) struct Words<'a>(std::iter::Peekable<std::str::SplitWhitespace<'a>>);

impl<'a> Words<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Words(text.split_whitespace().peekable())
    }

    pub(crate) fn next(&mut self, what: &str) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| format!("{what} is missing"))
    }

    pub(crate) fn peek(&mut self) -> Option<&'a str> {
        self.0.peek().copied()
    }

    pub(crate) fn rest(&mut self) -> Vec<&'a str> {
        self.0.by_ref().collect()
    }

    /// A name; `''` is the empty one.
    pub(crate) fn name(&mut self, what: &str) -> Result<String, String> {
        Ok(name(self.next(what)?))
    }

    pub(crate) fn partition(&mut self) -> Result<TopicPartition, String> {
        topic_partition(self.next("a partition such as orders-0")?)
    }

    pub(crate) fn end(&mut self) -> Result<(), String> {
        match self.0.next() {
            Some(word) => Err(format!("`{word}` is not understood")),
            None => Ok(()),
        }
    }
}

fn name(word: &str) -> String {
    if word == "''" {
        String::new()
    } else {
        word.to_string()
    }
}

fn step(text: &str) -> Result<Step, String> {
    let mut words = Words::new(text);
    let first = words.next("a step")?;
    if let Some(time) = first.strip_prefix("t+") {
        words.end()?;
        return Ok(Step::Advance {
            millis: duration(time)?,
        });
    }
    match first {
        "broker" => Ok(Step::Broker(pairs(&words.rest())?)),
        "crash" => crash(&mut words),
        "delete-topic" => {
            let topic = words.name("a topic")?;
            let rest = words.rest();
            let rest: Vec<&str> = rest.iter().map(AsRef::as_ref).collect();
            let code = match rest[..] {
                [] => Some(ErrorCode::NONE),
                ["->", code] => ErrorCode::from_name(code),
                _ => None,
            };
            let code = code.ok_or("the answer is `-> CODE`")?;
            Ok(Step::DeleteTopic { name: topic, code })
        }
        "expect" => Ok(Step::Expect(fact(&mut words)?)),
        "group" => {
            let name = words.name("a group")?;
            Ok(Step::Group {
                name,
                configs: pairs(&words.rest())?,
            })
        }
        "limits" => Ok(Step::Limits(pairs(&words.rest())?)),
        "restart" => restart(&mut words),
        "storage" => storage(&mut words).map(Step::Storage),
        "topic" => topic(&mut words),
        client => client_step(client, text),
    }
}

fn client_step(client: &str, text: &str) -> Result<Step, String> {
    let (request, answer) = match text.split_once("->") {
        Some((request, answer)) => (request, Some(answer.trim())),
        None => (text, None),
    };
    let words = request.trim().strip_prefix(client).unwrap_or_default();
    let verb = verbs::verb(words)?;
    let expected = match answer {
        Some(answer) => expected(answer)?,
        None => Expected::Success,
    };
    Ok(Step::Client {
        client: client.to_string(),
        verb,
        expected,
    })
}

pub(crate) fn pairs(words: &[&str]) -> Result<Pairs, String> {
    words
        .iter()
        .map(|word| match word.split_once('=') {
            Some((key, value)) => Ok((key.to_string(), value.to_string())),
            None => Err(format!("`{word}` is not of the form name=value")),
        })
        .collect()
}

fn topic(words: &mut Words<'_>) -> Result<Step, String> {
    let name = words.name("a topic")?;
    let mut configs = pairs(&words.rest())?;
    let mut partitions = 1;
    if let Some(at) = configs.iter().position(|(key, _)| key == "partitions") {
        partitions = number(&configs.remove(at).1)?;
    }
    Ok(Step::Topic {
        name,
        partitions,
        configs,
    })
}

fn crash(words: &mut Words<'_>) -> Result<Step, String> {
    let keep = match words.rest().as_slice() {
        [] | ["keep=completed"] => Keep::Completed,
        ["keep=all-issued"] => Keep::AllIssued,
        [keep] => match keep.strip_prefix("keep=") {
            Some(count) => Keep::Operations(number(count)?),
            None => return Err(format!("`{keep}` is not understood")),
        },
        _ => return Err("crash takes keep=completed, keep=all-issued or keep=N".to_string()),
    };
    Ok(Step::Crash(keep))
}

fn restart(words: &mut Words<'_>) -> Result<Step, String> {
    let wall_shift_ms = match words.rest().as_slice() {
        [] => 0,
        [wall] => {
            let shift = wall
                .strip_prefix("wall=")
                .ok_or("restart takes wall=-1h or wall=+1h")?;
            let (sign, time) = match shift.strip_prefix('-') {
                Some(time) => (-1, time),
                None => (1, shift.trim_start_matches('+')),
            };
            sign * i64::try_from(duration(time)?).map_err(|error| error.to_string())?
        }
        _ => return Err("restart takes one option".to_string()),
    };
    Ok(Step::Restart { wall_shift_ms })
}

fn storage(words: &mut Words<'_>) -> Result<StorageStep, String> {
    match words.rest().as_slice() {
        ["hold"] => Ok(StorageStep::Hold),
        ["release"] => Ok(StorageStep::Release),
        ["complete", count] => Ok(StorageStep::Complete(number(count)?)),
        ["compact", partition, gone @ ..] if !gone.is_empty() => Ok(StorageStep::Compact {
            partition: topic_partition(partition)?,
            gone: gone.iter().map(|word| range(word)).collect::<Result<_, _>>()?,
        }),
        ["fail", "next", "append", fault] => append_fault(fault, false),
        ["fail", "next", "append", fault, "landed"] => append_fault(fault, true),
        _ => Err(
            "storage can hold, release, complete N, compact PARTITION OFFSETS or fail next append FAULT"
                .to_string(),
        ),
    }
}

fn append_fault(name: &str, landed: bool) -> Result<StorageStep, String> {
    let fault = match name {
        "Full" => StorageFault::Full,
        "Indeterminate" => StorageFault::Indeterminate,
        "Retriable" => StorageFault::Retriable,
        other => return Err(format!("an append cannot fail with {other}")),
    };
    if landed && fault != StorageFault::Indeterminate {
        return Err(format!("{name} says that nothing landed"));
    }
    Ok(StorageStep::FailNextAppend(AppendFault { fault, landed }))
}

fn fact(words: &mut Words<'_>) -> Result<Fact, String> {
    let fact = match words.next("what to expect")? {
        "metric" => metric(words)?,
        "nothing-open" => Fact::NothingOpen,
        "start" => Fact::Start {
            group: words.name("a group")?,
            partition: words.partition()?,
            offset: number(words.next("an offset")?)?,
        },
        "states" => Fact::States {
            group: words.name("a group")?,
            partition: words.partition()?,
            items: state_items(&words.rest().join(" "))?,
        },
        "transaction" => Fact::Transaction {
            id: words.name("a transactional id")?,
            state: words.name("a state")?,
        },
        "visible" => Fact::Visible {
            partition: words.partition()?,
            values: values(&words.rest()),
        },
        other => return Err(format!("`{other}` cannot be expected")),
    };
    words.end()?;
    Ok(fact)
}

fn metric(words: &mut Words<'_>) -> Result<Fact, String> {
    let text = words.next("a metric")?;
    let (name, labels) = match text.strip_suffix('}').map(|text| text.split_once('{')) {
        None => (text, ""),
        Some(Some(parts)) => parts,
        Some(None) => return Err(format!("`{text}` has no `{{`")),
    };
    let labels = labels
        .split(',')
        .filter(|label| !label.is_empty())
        .map(|label| match label.split_once('=') {
            Some((name, value)) => Ok((name.to_string(), value.to_string())),
            None => Err(format!("`{label}` is no label")),
        });
    Ok(Fact::Metric {
        name: name.to_string(),
        labels: labels.collect::<Result<_, _>>()?,
        value: number(words.next("its value")?)?,
    })
}

fn values(words: &[&str]) -> Vec<String> {
    match words {
        ["nothing"] => Vec::new(),
        values => values.iter().map(ToString::to_string).collect(),
    }
}

fn state_items(text: &str) -> Result<Vec<StateItem>, String> {
    let item = |text: &str| {
        let mut words = Words::new(text);
        let (first, last) = range(words.next("offsets")?)?;
        let state = words.name("a state")?;
        const STATES: [&str; 7] = [
            "AVAILABLE",
            "ACQUIRED",
            "ACKNOWLEDGED",
            "ARCHIVING",
            "ARCHIVED",
            "TX_PENDING",
            "DONE",
        ];
        if !STATES.contains(&state.as_str()) {
            return Err(format!("`{state}` is no delivery state"));
        }
        let count = count(&mut words)?;
        words.end()?;
        Ok(StateItem {
            first,
            last,
            state,
            count,
        })
    };
    text.split(',').map(item).collect()
}

fn count(words: &mut Words<'_>) -> Result<Option<i16>, String> {
    let Some(count) = words.peek().and_then(|word| word.strip_prefix("count=")) else {
        return Ok(None);
    };
    let _ = words.next("a count")?;
    number(count).map(Some)
}

/// What follows `->`.
fn expected(text: &str) -> Result<Expected, String> {
    match text {
        "anything" => return Ok(Expected::Anything),
        "closed" => return Ok(Expected::Closed),
        "nothing" => return Ok(Expected::Nothing),
        "waiting" => return Ok(Expected::Waiting),
        "" => return Err("nothing follows ->".to_string()),
        _ => {}
    }
    if let Some(code) = ErrorCode::from_name(text) {
        return Ok(Expected::Code(code));
    }
    if let Some(words) = text.strip_prefix("says ") {
        return Ok(Expected::Says(words.to_string()));
    }
    if let Some(expected) = consumer_groups::expected(text)? {
        return Ok(expected);
    }
    if let Some(list) = text.strip_prefix("values ") {
        return list
            .split(',')
            .map(value_item)
            .collect::<Result<_, _>>()
            .map(Expected::Values);
    }
    if text.contains(':') {
        return text
            .split(',')
            .map(part)
            .collect::<Result<_, _>>()
            .map(Expected::Parts);
    }
    text.split(',')
        .map(acquired)
        .collect::<Result<_, _>>()
        .map(Expected::Acquired)
}

fn value_item(text: &str) -> Result<(TopicPartition, Vec<String>), String> {
    let mut words = Words::new(text);
    Ok((words.partition()?, values(&words.rest())))
}

fn part(text: &str) -> Result<(TopicPartition, ErrorCode), String> {
    let (partition, code) = text.split_once(':').ok_or("a part is orders-0: CODE")?;
    let code = code.trim();
    let code = ErrorCode::from_name(code).ok_or_else(|| format!("`{code}` is no error code"))?;
    Ok((topic_partition(partition.trim())?, code))
}

fn acquired(text: &str) -> Result<AcquiredSpan, String> {
    let mut words = Words::new(text);
    let named = words
        .peek()
        .is_some_and(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
    let partition = if named {
        Some(words.partition()?)
    } else {
        None
    };
    let (first, last) = range(words.next("offsets")?)?;
    let count = count(&mut words)?;
    words.end()?;
    Ok(AcquiredSpan {
        partition,
        first,
        last,
        count,
    })
}

pub(crate) fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is no number here"))
}

/// `0-9`, or `5` for one offset.
pub(crate) fn range(text: &str) -> Result<(i64, i64), String> {
    match text.split_once('-') {
        Some((first, last)) => Ok((number(first)?, number(last)?)),
        None => number(text).map(|offset| (offset, offset)),
    }
}

/// `orders-0`; a negative partition is `orders--1`.
pub(crate) fn topic_partition(text: &str) -> Result<TopicPartition, String> {
    let split = text.rsplit_once('-').filter(|(topic, _)| !topic.is_empty());
    let (topic, partition) = split.ok_or_else(|| format!("`{text}` is no partition"))?;
    let partition: i32 = number(partition)?;
    match topic.strip_suffix('-') {
        Some(topic) => Ok(TopicPartition {
            topic: topic.to_string(),
            partition: -partition,
        }),
        None => Ok(TopicPartition {
            topic: topic.to_string(),
            partition,
        }),
    }
}

/// `500ms`, `30s`, `2m`, `1h` in milliseconds.
fn duration(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        other => return Err(format!("`{other}` is no unit of time")),
    };
    number::<u64>(digits).map(|count| count * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Verb;

    #[test]
    fn a_script_has_a_title_and_steps() {
        let text = "# Title\n# more\np1 begin ; p1 send enriched-0 x y # note\nt+1m\n";
        let script = script(text).unwrap();
        assert_eq!(script.title, "Title");
        assert_eq!(script.lines.len(), 3);
        assert_eq!((script.lines[1].number, script.lines[2].number), (3, 4));
        assert_eq!(script.lines[2].step, Step::Advance { millis: 60_000 });
    }

    #[test]
    fn what_follows_the_arrow() {
        let code = ErrorCode::INVALID_RECORD_STATE;
        let tp = TopicPartition {
            topic: "orders".to_string(),
            partition: 0,
        };
        assert_eq!(expected("INVALID_RECORD_STATE"), Ok(Expected::Code(code)));
        let parts = Expected::Parts(vec![(tp, code)]);
        assert_eq!(expected("orders-0: INVALID_RECORD_STATE"), Ok(parts));
        let span = AcquiredSpan {
            partition: None,
            first: 0,
            last: 2,
            count: Some(1),
        };
        assert_eq!(expected("0-2 count=1"), Ok(Expected::Acquired(vec![span])));
        assert!(expected("NO_SUCH_CODE").is_err());
    }

    #[test]
    fn bad_lines_are_named() {
        for bad in [
            "p1",
            "p1 dance",
            "expect rain",
            "t+5",
            "crash keep=x",
            "topic a x",
        ] {
            let error = script(&format!("# T\n{bad}\n")).unwrap_err();
            assert!(error.starts_with("line 2"), "{bad}: {error}");
        }
        assert!(script("p1 begin").is_err());
    }

    #[test]
    fn partitions_may_be_negative() {
        let tp = topic_partition("my-topic--1").unwrap();
        assert_eq!((tp.topic.as_str(), tp.partition), ("my-topic", -1));
    }

    #[test]
    fn an_answer_may_be_awaited() {
        let script = script("# T\np1 commit -> waiting").unwrap();
        let Step::Client { verb, expected, .. } = &script.lines[0].step else {
            panic!()
        };
        assert!(matches!(
            verb,
            Verb::EndTxn {
                commit: true,
                version: 5,
                ..
            }
        ));
        assert_eq!(*expected, Expected::Waiting);
    }
}
