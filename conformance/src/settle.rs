//! A broker behind a socket may be one of a cluster, or a new one: what was created or altered a
//! moment ago is known everywhere only a little later, and coordinators exist from their first look-up
//! on. So the runner looks coordinators up as clients do, asks again where it is told to, and looks
//! again at what is not yet so. Answers that a step expects are taken as they come.

use ackord_proto::api::{Request, Response};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::FindCoordinatorRequest;
use ackord_proto::str::Str;

use crate::answers::Codes;
use crate::consumer_groups::ConsumerVerb;
use crate::script::{Expected, Fact, GroupAdmin, Verb};
use crate::steps::{ADMIN, Session};

/// Answers without records after which a fetch that must bring some has failed.
const ANSWERS_IN_VAIN: usize = 3;
/// Pauses until what is not so is taken for wrong.
const ROUNDS: usize = 200;
/// Pauses until the end of a connection, or a new topic, is known.
const ROUNDS_TO_NOTICE: usize = 6;
/// The version of FindCoordinator that knows share partitions.
const WITH_SHARES: i16 = 6;
/// Types of keys in FindCoordinator.
const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

/// Codes that say that a cluster is not there yet.
const UNSETTLED: [ErrorCode; 9] = [
    ErrorCode::CONCURRENT_TRANSACTIONS,
    ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode::COORDINATOR_NOT_AVAILABLE,
    ErrorCode::LEADER_NOT_AVAILABLE,
    ErrorCode::NOT_COORDINATOR,
    ErrorCode::NOT_LEADER_OR_FOLLOWER,
    ErrorCode::UNKNOWN_TOPIC_ID,
    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode::UNSTABLE_OFFSET_COMMIT,
];

impl Session<'_> {
    /// Sends the request of a verb and takes its answer.
    pub(crate) fn exchange(
        &mut self,
        client: &str,
        verb: &Verb,
        expected: &Expected,
    ) -> Result<(), String> {
        let reads = match verb {
            Verb::Consumer(verb) => matches!(verb, ConsumerVerb::FetchOffsets { .. }),
            Verb::GroupAdmin(verb) => !verb.changes(),
            _ => false,
        };
        let (mut verb, mut expected) = (verb.clone(), expected.clone());
        for round in 0.. {
            let (mut request, version) = self.clients.request(client, &verb)?;
            if let Request::ShareFetch(request) = &mut request {
                let wait_ms = match &expected {
                    Expected::Acquired(_) => self.arm.patience_ms(),
                    // Long enough for a new share partition to have found its start.
                    Expected::Nothing if self.arm.settles() => self.arm.patience_ms() / 10,
                    _ => 0,
                };
                request.max_wait_ms = request.max_wait_ms.max(wait_ms);
            }
            if self.arm.settles() {
                self.find_coordinators(&request)?;
            }
            self.send(client, request, version)?;
            let outcome = self.take_answer(client, &expected);
            let rest = self
                .lacking
                .take()
                .filter(|_| self.brought_a_part(&expected));
            // Some brokers answer before the time with nothing, while a share partition is loaded.
            let in_vain = rest.is_none()
                && round < ANSWERS_IN_VAIN
                && outcome.is_err()
                && self.brought_a_part(&expected);
            let again = reads || rest.is_some() || in_vain || self.is_unsettled();
            if outcome.is_ok() || !again || !self.may_settle(round) {
                return outcome;
            }
            if let Verb::Fetch { acks, .. } = &mut verb
                && (in_vain || rest.is_some())
            {
                acks.clear();
            }
            if let Some(rest) = rest {
                expected = Expected::Acquired(rest);
            }
        }
        Ok(())
    }

    /// Whether an answer without an error brought some of the records that a step wants; the next
    /// one may bring the others, since how they are cut into answers is the broker's to choose.
    fn brought_a_part(&self, expected: &Expected) -> bool {
        let succeeded = self.answered.as_ref().is_some_and(Codes::is_success);
        succeeded && matches!(expected, Expected::Acquired(_))
    }

    /// A broker hears of the end of a connection a little later, and its coordinators of a new topic or
    /// of one that is gone, and everybody of what somebody may do.
    pub(crate) fn let_it_be_noticed(&mut self) {
        for _ in 0..ROUNDS_TO_NOTICE {
            self.may_settle(0);
        }
    }

    /// Looks at a fact until it is true.
    pub(crate) fn check(&mut self, fact: &Fact) -> Result<(), String> {
        for round in 0.. {
            let outcome = self.check_once(fact);
            if outcome.is_ok() || !self.may_settle(round) {
                return outcome;
            }
        }
        Ok(())
    }

    /// Gives the broker a moment, where it may need one and has not had enough.
    fn may_settle(&mut self, round: usize) -> bool {
        let may = self.arm.settles() && round < ROUNDS;
        if may {
            self.arm.pause();
        }
        may
    }

    /// Whether the last answer speaks of nothing but a cluster that is not there yet.
    fn is_unsettled(&self) -> bool {
        let Some(codes) = &self.answered else {
            return false;
        };
        let parts = codes.parts.iter().map(|(_, code)| *code);
        let mut errors = parts.chain(codes.top).filter(|code| code.is_error());
        !codes.is_success() && errors.all(|code| UNSETTLED.contains(&code))
    }

    /// Finds the coordinators that a request is for, each once.
    fn find_coordinators(&mut self, request: &Request) -> Result<(), String> {
        for (key_type, key) in coordinator_keys(request) {
            if self.found.contains(&(key_type, key.clone())) {
                continue;
            }
            for round in 0.. {
                let code = self.find_coordinator(key_type, &key)?;
                if !UNSETTLED.contains(&code) || !self.may_settle(round) {
                    break;
                }
            }
            self.found.insert((key_type, key));
        }
        Ok(())
    }

    fn find_coordinator(&mut self, key_type: i8, key: &Str) -> Result<ErrorCode, String> {
        let request = FindCoordinatorRequest {
            key_type,
            coordinator_keys: vec![key.clone()],
            ..Default::default()
        };
        let Response::FindCoordinator(response) = self.ask(ADMIN, request.into(), WITH_SHARES)?
        else {
            return Err("no answer of FindCoordinator".to_string());
        };
        let mut found = response.coordinators.iter();
        Ok(found.next().map_or(ErrorCode::NONE, |own| own.error_code))
    }
}

impl GroupAdmin {
    fn changes(&self) -> bool {
        match self {
            GroupAdmin::AlterOffsets { .. }
            | GroupAdmin::DeleteGroups(_)
            | GroupAdmin::DeleteOffsets { .. } => true,
            GroupAdmin::DescribeClassic(_)
            | GroupAdmin::DescribeConsumer(_)
            | GroupAdmin::DescribeGroups(_)
            | GroupAdmin::DescribeOffsets { .. }
            | GroupAdmin::ListGroups { .. } => false,
        }
    }
}

/// The groups and transactional ids that a request names; the empty one has no coordinator.
fn coordinator_keys(request: &Request) -> Vec<(i8, Str)> {
    let keys = match request {
        Request::ShareGroupHeartbeat(own) => vec![(GROUP, own.group_id.clone())],
        Request::ConsumerGroupHeartbeat(own) => vec![(GROUP, own.group_id.clone())],
        Request::ConsumerGroupDescribe(own) => of_groups(own.group_ids.iter()),
        Request::ShareGroupDescribe(own) => of_groups(own.group_ids.iter()),
        Request::DescribeGroups(own) => of_groups(own.groups.iter()),
        Request::DeleteGroups(own) => of_groups(own.groups_names.iter()),
        Request::DescribeShareGroupOffsets(own) => {
            of_groups(own.groups.iter().map(|group| &group.group_id))
        }
        Request::AlterShareGroupOffsets(own) => vec![(GROUP, own.group_id.clone())],
        Request::DeleteShareGroupOffsets(own) => vec![(GROUP, own.group_id.clone())],
        Request::JoinGroup(own) => vec![(GROUP, own.group_id.clone())],
        Request::SyncGroup(own) => vec![(GROUP, own.group_id.clone())],
        Request::Heartbeat(own) => vec![(GROUP, own.group_id.clone())],
        Request::LeaveGroup(own) => vec![(GROUP, own.group_id.clone())],
        Request::OffsetCommit(own) => vec![(GROUP, own.group_id.clone())],
        Request::OffsetFetch(own) => of_groups(own.groups.iter().map(|group| &group.group_id)),
        Request::TxnOffsetCommit(own) => vec![(GROUP, own.group_id.clone())],
        Request::InitProducerId(own) => {
            let id = own.transactional_id.clone().unwrap_or_default();
            vec![(TRANSACTION, id)]
        }
        _ => Vec::new(),
    };
    keys.into_iter()
        .filter(|(_, key)| !key.is_empty())
        .collect()
}

fn of_groups<'a>(groups: impl Iterator<Item = &'a Str>) -> Vec<(i8, Str)> {
    groups.map(|group| (GROUP, group.clone())).collect()
}
