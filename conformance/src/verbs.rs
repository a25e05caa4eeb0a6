//! Reading what a client does.

use crate::acl_admin;
use crate::consumer_groups;
use crate::grammar::{Words, number, range, topic_partition};
use crate::group_admin;
use crate::offset_acks::offset_acks;
use crate::script::{
    AckSpan, AckSpans, EpochOption, Identity, RecordOptions, StageOptions, TopicPartition,
    TwoPhase, Verb,
};
use crate::txn_admin;

/// Options of a verb: `name=value`, or a bare word that stands for itself.
pub(crate) struct Options<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Options<'a> {
    pub(crate) fn take(&mut self, name: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|(own, _)| *own == name)?;
        Some(self.0.remove(at).1)
    }

    pub(crate) fn number<N: std::str::FromStr>(&mut self, name: &str) -> Result<Option<N>, String> {
        self.take(name).map(number).transpose()
    }

    pub(crate) fn epoch(&mut self, name: &str) -> Result<Option<EpochOption>, String> {
        let Some(text) = self.take(name) else {
            return Ok(None);
        };
        let option = match text.strip_prefix('+') {
            Some(ahead) => EpochOption::Relative(number(ahead)?),
            None if text.starts_with('-') => EpochOption::Relative(number(text)?),
            None if text == "none" => EpochOption::Absolute(-1),
            None => EpochOption::Absolute(number(text)?),
        };
        Ok(Some(option))
    }

    pub(crate) fn identity(&mut self) -> Result<Identity, String> {
        Ok(Identity {
            transactional_id: self.take("txn").map(ToString::to_string),
            producer_id: self.number("pid")?,
            epoch: self.epoch("epoch")?,
        })
    }

    fn end(&self) -> Result<(), String> {
        match self.0.first() {
            Some((name, _)) => Err(format!("option `{name}` has no place here")),
            None => Ok(()),
        }
    }
}

/// Words that are options without a value.
const FLAGS: [&str; 15] = [
    "v0", "v1", "v2", "v3", "v4", "v5", "v11", "2pc", "draft", "exact", "keep", "member", "simple",
    "stable", "verify",
];

/// Reads the words behind the name of a client.
pub(crate) fn verb(text: &str) -> Result<Verb, String> {
    let (mut options, mut words) = (Vec::new(), Vec::new());
    for word in text.split_whitespace() {
        match word.split_once('=') {
            Some((name, value)) if !name.is_empty() => options.push((name, value)),
            _ if FLAGS.contains(&word) => options.push((word, "")),
            _ => words.push(word),
        }
    }
    let joined = words.join(" ");
    let mut words = Words::new(&joined);
    let mut options = Options(options);
    let name = words.next("what the client does")?;
    let verb = match producer_verb(name, &mut words, &mut options)? {
        Some(verb) => verb,
        None => match group_admin::verb(name, &mut words)? {
            Some(verb) => Verb::GroupAdmin(verb),
            None => match txn_admin::verb(name, &mut words)? {
                Some(verb) => Verb::TxnAdmin(verb),
                None => acl_or_other_verb(name, &mut words, &mut options)?,
            },
        },
    };
    words.end()?;
    options.end()?;
    Ok(verb)
}

fn acl_or_other_verb(
    name: &str,
    words: &mut Words<'_>,
    options: &mut Options<'_>,
) -> Result<Verb, String> {
    let host = || options.take("host").map(ToString::to_string);
    match acl_admin::verb(name, words, host)? {
        Some(verb) => Ok(Verb::AclAdmin(verb)),
        None if name == "opens" => opens(words),
        None => other_verb(name, words, options),
    }
}

fn opens(words: &mut Words<'_>) -> Result<Verb, String> {
    let rest = words.rest();
    let (principal, host) = match rest[..] {
        ["as", principal] => (principal, None),
        ["as", principal, "from", host] => (principal, Some(host.to_string())),
        _ => return Err("a connection opens as User:NAME, perhaps from an address".to_string()),
    };
    Ok(Verb::Opens {
        principal: principal.to_string(),
        host,
    })
}

fn producer_verb(
    name: &str,
    words: &mut Words<'_>,
    options: &mut Options<'_>,
) -> Result<Option<Verb>, String> {
    Ok(Some(match name {
        "abort" => end_txn(false, options)?,
        "add-acks" => Verb::AddShareAcks {
            group: words.name("a group")?,
            partitions: partitions(words)?,
            identity: options.identity()?,
        },
        "add-partitions" => {
            let identity = options.identity()?;
            Verb::AddPartitions {
                verify: options.take("verify").is_some(),
                partitions: partitions(words)?,
                identity,
            }
        }
        "begin" => Verb::Begin,
        "session-epoch" => {
            let word = words.next("an epoch")?;
            let epoch = word.parse().map_err(|_| format!("{word} is no epoch"))?;
            Verb::SessionEpoch(epoch)
        }
        "commit" => end_txn(true, options)?,
        "copy" => Verb::Copy(words.name("a client")?),
        "init" => Verb::Init {
            transactional_id: words.name("a transactional id")?,
            timeout_ms: options.number("timeout")?.unwrap_or(60_000),
            two_phase: TwoPhase {
                enable: options.take("2pc").is_some(),
                keep: options.take("keep").is_some(),
            },
        },
        "produce" => Verb::Produce {
            partition: words.partition()?,
            values: values(words),
            options: RecordOptions {
                key: options.take("key").map(ToString::to_string),
                time_ms: options.number("time")?.unwrap_or(0),
            },
        },
        "send" => Verb::Send {
            partition: words.partition()?,
            values: values(words),
            version: if options.take("v11").is_some() {
                11
            } else {
                12
            },
            identity: options.identity()?,
        },
        "stage" => stage(words, options)?,
        "txn-acks" => Verb::OffsetAcks(offset_acks(words, options)?),
        "write-markers" => Verb::WriteMarkers {
            producer: words.name("a client with a producer")?,
            partition: words.partition()?,
            commit: match words.next("commit or abort")? {
                "commit" => true,
                "abort" => false,
                other => return Err(format!("`{other}` is neither commit nor abort")),
            },
            identity: options.identity()?,
        },
        _ => return Ok(None),
    }))
}

fn other_verb(
    name: &str,
    words: &mut Words<'_>,
    options: &mut Options<'_>,
) -> Result<Verb, String> {
    Ok(match name {
        "ack" => Verb::Ack(ack_spans(words)?),
        "answer" => Verb::Answer,
        "close-session" => Verb::CloseSession,
        "create-partitions" => Verb::CreatePartitions {
            topic: words.name("a topic")?,
            count: number(words.next("how many")?)?,
        },
        "delete-records" => Verb::DeleteRecords {
            partition: words.partition()?,
            before: number(words.next("an offset")?)?,
        },
        "delete-state" => Verb::DeleteState {
            group: words.name("a group")?,
            partition: words.partition()?,
        },
        "disconnect" => Verb::Disconnect,
        "fetch" => fetch(words, options)?,
        "heartbeat" => Verb::Heartbeat {
            epoch: options.epoch("epoch")?,
            topics: values(words),
        },
        "join" => Verb::Join {
            group: words.name("a group")?,
            topics: words.rest().iter().map(ToString::to_string).collect(),
        },
        "leave" => Verb::Leave,
        "read" => Verb::Read {
            partitions: partitions(words)?,
            max_wait_ms: options.number("wait")?.unwrap_or(0),
            from: options.number("from")?.unwrap_or(0),
        },
        "repeat" => Verb::Repeat,
        "write-state" => write_state(words)?,
        other => match consumer_groups::verb(other, words, options)? {
            Some(verb) => Verb::Consumer(verb),
            None => return Err(format!("`{other}` is nothing that a client does")),
        },
    })
}

fn end_txn(commit: bool, options: &mut Options<'_>) -> Result<Verb, String> {
    let versions = [("v1", 1), ("v4", 4)];
    let older = versions
        .into_iter()
        .find(|(name, _)| options.take(name).is_some());
    let version = older.map_or(5, |(_, version)| version);
    Ok(Verb::EndTxn {
        commit,
        version,
        identity: options.identity()?,
    })
}

fn fetch(words: &mut Words<'_>, options: &mut Options<'_>) -> Result<Verb, String> {
    let mut partitions = Vec::new();
    while let Some(word) = words.peek().filter(|word| *word != "ack") {
        partitions.push(topic_partition(word)?);
        let _ = words.next("a partition")?;
    }
    let mut acks = Vec::new();
    if words.peek().is_some() {
        let _ = words.next("ack")?;
        acks = ack_spans(words)?;
    }
    Ok(Verb::Fetch {
        partitions,
        acks,
        max_records: options.number("max")?.unwrap_or(500),
        max_wait_ms: options.number("wait")?.unwrap_or(0),
        exact: options.take("exact").is_some(),
    })
}

fn stage(words: &mut Words<'_>, options: &mut Options<'_>) -> Result<Verb, String> {
    let (group, member) = (words.name("a group")?, words.name("a member")?);
    let version = options
        .take("v0")
        .map(|_| 0)
        .or(options.take("v2").map(|_| 2));
    let stage_options = StageOptions {
        version,
        count: options.number("count")?,
        draft: options.take("draft").is_some(),
        member: options.take("member").map(unquoted),
        member_epoch: options.epoch("member-epoch")?,
    };
    let identity = options.identity()?;
    let acks = ack_spans(words)?;
    Ok(Verb::Stage {
        group,
        member,
        acks,
        options: stage_options,
        identity,
    })
}

fn unquoted(text: &str) -> String {
    if text == "''" {
        String::new()
    } else {
        text.to_string()
    }
}

fn write_state(words: &mut Words<'_>) -> Result<Verb, String> {
    let (group, partition) = (words.name("a group")?, words.partition()?);
    let (first, last) = range(words.next("offsets")?)?;
    let state = match words.next("a state")? {
        "AVAILABLE" => 0,
        "ACKNOWLEDGED" => 2,
        "ARCHIVED" => 4,
        other => return Err(format!("`{other}` cannot be written")),
    };
    Ok(Verb::WriteState {
        group,
        partition,
        first,
        last,
        state,
    })
}

fn values(words: &mut Words<'_>) -> Vec<String> {
    words.rest().iter().map(ToString::to_string).collect()
}

fn partitions(words: &mut Words<'_>) -> Result<Vec<TopicPartition>, String> {
    words.rest().into_iter().map(topic_partition).collect()
}

/// `orders-0 0-4 accept 5-6 reject orders-1 0 gap/accept`
pub(crate) fn ack_spans(words: &mut Words<'_>) -> Result<AckSpans, String> {
    let mut acks: AckSpans = Vec::new();
    while let Some(word) = words.peek() {
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            acks.push((words.partition()?, Vec::new()));
            continue;
        }
        let (first, last) = range(words.next("offsets")?)?;
        let types = ack_types(words.next("accept, reject, release, renew or gap")?)?;
        let (_, spans) = acks.last_mut().ok_or("a partition comes before offsets")?;
        spans.push(AckSpan { first, last, types });
    }
    Ok(acks)
}

fn ack_types(text: &str) -> Result<Vec<i8>, String> {
    let one = |word: &str| match word {
        "gap" => Ok(0),
        "accept" => Ok(1),
        "release" => Ok(2),
        "reject" => Ok(3),
        "renew" => Ok(4),
        other => match other.strip_prefix("type") {
            Some(value) => number(value),
            None => Err(format!("`{other}` is no acknowledge type")),
        },
    };
    match text {
        "untyped" => Ok(Vec::new()),
        list => list.split('/').map(one).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_with_types() {
        let Ok(Verb::Stage {
            group,
            member,
            acks,
            options,
            ..
        }) = verb("stage g m1 orders-0 0-2 gap/accept/reject 3 accept orders-1 0-9 reject count=2")
        else {
            panic!("not a stage")
        };
        assert_eq!(
            (group.as_str(), member.as_str(), options.count),
            ("g", "m1", Some(2))
        );
        assert_eq!(acks.len(), 2);
        assert_eq!(acks[0].1[0].types, [0, 1, 3]);
        assert_eq!((acks[0].1[1].first, acks[0].1[1].last), (3, 3));
    }

    #[test]
    fn a_fetch_carries_acknowledgements() {
        let Ok(Verb::Fetch {
            partitions,
            acks,
            max_records,
            exact,
            ..
        }) = verb("fetch orders-0 orders-1 max=3 exact ack orders-0 0-2 accept")
        else {
            panic!("not a fetch")
        };
        assert_eq!(
            (partitions.len(), acks.len(), max_records, exact),
            (2, 1, 3, true)
        );
    }

    #[test]
    fn epochs_are_absolute_or_relative() {
        let epoch = |text: &str| match verb(text) {
            Ok(Verb::EndTxn { identity, .. }) => identity.epoch,
            other => panic!("{other:?}"),
        };
        assert_eq!(epoch("commit epoch=+1"), Some(EpochOption::Relative(1)));
        assert_eq!(epoch("commit epoch=-1"), Some(EpochOption::Relative(-1)));
        assert_eq!(epoch("commit epoch=3"), Some(EpochOption::Absolute(3)));
    }

    #[test]
    fn options_that_a_verb_does_not_have_are_refused() {
        assert!(verb("begin epoch=1").is_err());
        assert!(verb("commit count=2").is_err());
    }
}
