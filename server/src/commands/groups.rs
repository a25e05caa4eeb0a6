//! `groups`: share groups, their members and offsets, and what transactions hold of them.

use ackord_proto::api::{ApiKey, Response};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::messages::{
    DescribePendingShareAcksRequest, DescribeShareGroupOffsetsRequest, ListGroupsRequest,
    ShareGroupDescribeRequest, describe_share_group_offsets as offsets,
    share_group_describe::DescribedGroup,
};
use ackord_proto::str::Str;
use clap::{Args, Subcommand};

use super::link::{BrokerFlags, Link, unexpected};
use super::table::Table;
use super::{Refusal, known, pending_table};

/// Flags of `groups`.
#[derive(Args, Clone, Debug)]
pub struct GroupsFlags {
    /// What to do
    #[command(subcommand)]
    pub action: GroupsAction,
    /// Where the broker is.
    #[command(flatten)]
    pub broker: BrokerFlags,
}

/// What `groups` can do.
#[derive(Clone, Debug, Subcommand)]
pub enum GroupsAction {
    /// Describe share groups: members, start offsets and lag
    Describe {
        /// Share group; all where none is named
        group: Option<String>,
        /// The acknowledgements instead that wait for the end of a transaction
        #[arg(long)]
        pending: bool,
    },
}

pub(super) fn run(flags: &GroupsFlags) -> Result<String, Refusal> {
    let GroupsAction::Describe { group, pending } = &flags.action;
    let mut link = Link::open(&flags.broker)?;
    let groups = match group {
        Some(group) => vec![Str::from(group.as_str())],
        None => share_groups(&mut link)?,
    };
    let described = described(&mut link, groups)?;
    match pending {
        true => pending_of(&mut link, group.as_deref()),
        false => overview(&mut link, &described),
    }
}

fn share_groups(link: &mut Link) -> Result<Vec<Str>, Refusal> {
    let request = ListGroupsRequest {
        types_filter: vec!["share".into()],
        ..Default::default()
    };
    let Response::ListGroups(answer) = link.ask(request, 5)? else {
        return Err(unexpected(ApiKey::ListGroups));
    };
    if answer.error_code != ErrorCode::NONE {
        return Err(refused(answer.error_code));
    }
    let mut groups: Vec<Str> = answer.groups.into_iter().map(|own| own.group_id).collect();
    groups.sort();
    Ok(groups)
}

fn described(link: &mut Link, group_ids: Vec<Str>) -> Result<Vec<DescribedGroup>, Refusal> {
    let request = ShareGroupDescribeRequest {
        group_ids,
        ..Default::default()
    };
    let Response::ShareGroupDescribe(answer) = link.ask(request, 1)? else {
        return Err(unexpected(ApiKey::ShareGroupDescribe));
    };
    for own in &answer.groups {
        match own.error_code {
            ErrorCode::NONE => {}
            ErrorCode::GROUP_ID_NOT_FOUND => {
                return Err(Refusal(format!(
                    "there is no share group {}; without a name all share groups are described",
                    own.group_id
                )));
            }
            code => return Err(refused(code)),
        }
    }
    Ok(answer.groups)
}

fn overview(link: &mut Link, groups: &[DescribedGroup]) -> Result<String, Refusal> {
    let mut states = Table::new(["GROUP", "STATE", "MEMBERS", "ASSIGNOR"]);
    let mut members = Table::new(["GROUP", "MEMBER", "EPOCH", "CLIENT", "HOST", "PARTITIONS"]);
    for group in groups {
        let id = group.group_id.to_string();
        let assignor = Some(&*group.assignor_name).filter(|name| !name.is_empty());
        states.row([
            id.clone(),
            group.group_state.to_string(),
            group.members.len().to_string(),
            known(assignor),
        ]);
        for member in &group.members {
            let topics = member.assignment.topic_partitions.iter();
            let labels = topics.flat_map(|topic| {
                let label = |index: &i32| format!("{}-{index}", topic.topic_name);
                topic.partitions.iter().map(label).collect::<Vec<_>>()
            });
            let labels: Vec<String> = labels.collect();
            let labels = (!labels.is_empty()).then(|| labels.join(","));
            members.row([
                id.clone(),
                member.member_id.to_string(),
                member.member_epoch.to_string(),
                member.client_id.to_string(),
                member.client_host.to_string(),
                known(labels.as_deref()),
            ]);
        }
    }
    Ok(format!(
        "{states}\n{members}\n{}",
        offsets_table(link, groups)?
    ))
}

fn offsets_table(link: &mut Link, groups: &[DescribedGroup]) -> Result<String, Refusal> {
    let group = |own: &DescribedGroup| offsets::DescribeShareGroupOffsetsRequestGroup {
        group_id: own.group_id.clone(),
        topics: None,
        ..Default::default()
    };
    let request = DescribeShareGroupOffsetsRequest {
        groups: groups.iter().map(group).collect(),
        ..Default::default()
    };
    let Response::DescribeShareGroupOffsets(answer) = link.ask(request, 1)? else {
        return Err(unexpected(ApiKey::DescribeShareGroupOffsets));
    };
    let mut table = Table::new(["GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"]);
    for group in &answer.groups {
        if group.error_code != ErrorCode::NONE {
            return Err(refused(group.error_code));
        }
        for topic in &group.topics {
            for own in &topic.partitions {
                let number = |value: i64| known((value >= 0).then(|| value.to_string()).as_deref());
                table.row([
                    group.group_id.to_string(),
                    topic.topic_name.to_string(),
                    own.partition_index.to_string(),
                    number(own.start_offset),
                    number(own.lag),
                ]);
            }
        }
    }
    Ok(table.to_string())
}

fn pending_of(link: &mut Link, group: Option<&str>) -> Result<String, Refusal> {
    let request = DescribePendingShareAcksRequest {
        group_id: group.map(Into::into),
        ..Default::default()
    };
    let Response::DescribePendingShareAcks(answer) = link.ask(request, 0)? else {
        return Err(unexpected(ApiKey::DescribePendingShareAcks));
    };
    match answer.error_code {
        ErrorCode::NONE => Ok(pending_table(&answer)),
        code => Err(refused(code)),
    }
}

fn refused(code: ErrorCode) -> Refusal {
    Refusal(format!(
        "the broker refuses with {code}; try again, and look at its log where that lasts"
    ))
}
