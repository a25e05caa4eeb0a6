//! One list of APIs, and everything that is made from it.

use core::ops::RangeInclusive;

use crate::api::Body;
use crate::message::{DecodeError, EncodeError, Message};
use crate::messages::*;
use crate::printer::Printer;
use crate::reader::Reader;
use crate::writer::{Counter, Writer};

macro_rules! apis {
    ($($name:ident: $request:ident, $response:ident;)*) => {
        /// An API that this crate knows, by its Kafka name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i16)]
        pub enum ApiKey {
            $(
                #[doc = concat!("[`", stringify!($request), "`] and its response.")]
                $name = <$request as Message>::API_KEY,
            )*
        }

        impl ApiKey {
            /// Every known API, by key.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The API with this key.
            pub fn from_key(key: i16) -> Option<Self> {
                Self::ALL.iter().copied().find(|api| api.key() == key)
            }

            /// The key on the wire.
            pub const fn key(self) -> i16 {
                self as i16
            }

            /// Kafka's name of the API, such as `Produce`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// The versions that can be decoded and encoded.
            pub const fn versions(self) -> RangeInclusive<i16> {
                match self {
                    $(Self::$name => <$request as Message>::VERSIONS,)*
                }
            }

            /// The first version with compact lengths and tagged fields.
            pub const fn flexible_from(self) -> Option<i16> {
                match self {
                    $(Self::$name => <$request as Message>::FLEXIBLE_FROM,)*
                }
            }
        }

        /// Any request.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Request {
            $(
                #[doc = concat!("See [`", stringify!($request), "`].")]
                $name($request),
            )*
        }

        impl Request {
            /// Reads the body of a request.
            ///
            /// # Errors
            /// `UnknownVersion` where the API lacks the version; else what is wrong with the bytes.
            pub fn decode(key: ApiKey, version: i16, r: &mut Reader) -> Result<Self, DecodeError> {
                match key {
                    $(ApiKey::$name => $request::decode(version, r).map(Self::$name),)*
                }
            }

            /// The request of this API with every field at its default.
            pub fn default_of(key: ApiKey) -> Self {
                match key {
                    $(ApiKey::$name => Self::$name(<$request>::default()),)*
                }
            }

            /// The API of the request.
            pub const fn key(&self) -> ApiKey {
                match self {
                    $(Self::$name(_) => ApiKey::$name,)*
                }
            }

            /// Prints the name of the API and the fields, on one line.
            pub fn print(&self, version: i16, p: &mut Printer) {
                p.text(format_args!("{} v{version} ", self.key().name()));
                match self {
                    $(Self::$name(body) => Message::print(body, version, p),)*
                }
            }
        }

        impl Body for Request {
            fn counted(&self, version: i16) -> Counter {
                match self {
                    $(Self::$name(body) => Message::counted(body, version),)*
                }
            }

            fn encode(&self, version: i16, w: &mut Writer) -> Result<(), EncodeError> {
                match self {
                    $(Self::$name(body) => Message::encode(body, version, w),)*
                }
            }
        }

        /// Any response.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Response {
            $(
                #[doc = concat!("See [`", stringify!($response), "`].")]
                $name($response),
            )*
        }

        impl Response {
            /// Reads the body of a response.
            ///
            /// # Errors
            /// `UnknownVersion` where the API lacks the version; else what is wrong with the bytes.
            pub fn decode(key: ApiKey, version: i16, r: &mut Reader) -> Result<Self, DecodeError> {
                match key {
                    $(ApiKey::$name => $response::decode(version, r).map(Self::$name),)*
                }
            }

            /// The response of this API with every field at its default.
            pub fn default_of(key: ApiKey) -> Self {
                match key {
                    $(ApiKey::$name => Self::$name(<$response>::default()),)*
                }
            }

            /// The API of the response.
            pub const fn key(&self) -> ApiKey {
                match self {
                    $(Self::$name(_) => ApiKey::$name,)*
                }
            }

            /// Prints the name of the API and the fields, on one line.
            pub fn print(&self, version: i16, p: &mut Printer) {
                p.text(format_args!("{} v{version} ", self.key().name()));
                match self {
                    $(Self::$name(body) => Message::print(body, version, p),)*
                }
            }
        }

        impl Body for Response {
            fn counted(&self, version: i16) -> Counter {
                match self {
                    $(Self::$name(body) => Message::counted(body, version),)*
                }
            }

            fn encode(&self, version: i16, w: &mut Writer) -> Result<(), EncodeError> {
                match self {
                    $(Self::$name(body) => Message::encode(body, version, w),)*
                }
            }
        }

        $(
            impl From<$request> for Request {
                fn from(body: $request) -> Self {
                    Self::$name(body)
                }
            }

            impl From<$response> for Response {
                fn from(body: $response) -> Self {
                    Self::$name(body)
                }
            }
        )*
    };
}

apis! {
    Produce: ProduceRequest, ProduceResponse;
    Fetch: FetchRequest, FetchResponse;
    ListOffsets: ListOffsetsRequest, ListOffsetsResponse;
    Metadata: MetadataRequest, MetadataResponse;
    OffsetCommit: OffsetCommitRequest, OffsetCommitResponse;
    OffsetFetch: OffsetFetchRequest, OffsetFetchResponse;
    FindCoordinator: FindCoordinatorRequest, FindCoordinatorResponse;
    JoinGroup: JoinGroupRequest, JoinGroupResponse;
    Heartbeat: HeartbeatRequest, HeartbeatResponse;
    LeaveGroup: LeaveGroupRequest, LeaveGroupResponse;
    SyncGroup: SyncGroupRequest, SyncGroupResponse;
    DescribeGroups: DescribeGroupsRequest, DescribeGroupsResponse;
    ListGroups: ListGroupsRequest, ListGroupsResponse;
    SaslHandshake: SaslHandshakeRequest, SaslHandshakeResponse;
    ApiVersions: ApiVersionsRequest, ApiVersionsResponse;
    CreateTopics: CreateTopicsRequest, CreateTopicsResponse;
    DeleteTopics: DeleteTopicsRequest, DeleteTopicsResponse;
    DeleteRecords: DeleteRecordsRequest, DeleteRecordsResponse;
    InitProducerId: InitProducerIdRequest, InitProducerIdResponse;
    OffsetForLeaderEpoch: OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse;
    AddPartitionsToTxn: AddPartitionsToTxnRequest, AddPartitionsToTxnResponse;
    AddOffsetsToTxn: AddOffsetsToTxnRequest, AddOffsetsToTxnResponse;
    EndTxn: EndTxnRequest, EndTxnResponse;
    WriteTxnMarkers: WriteTxnMarkersRequest, WriteTxnMarkersResponse;
    TxnOffsetCommit: TxnOffsetCommitRequest, TxnOffsetCommitResponse;
    DescribeAcls: DescribeAclsRequest, DescribeAclsResponse;
    CreateAcls: CreateAclsRequest, CreateAclsResponse;
    DeleteAcls: DeleteAclsRequest, DeleteAclsResponse;
    DescribeConfigs: DescribeConfigsRequest, DescribeConfigsResponse;
    AlterConfigs: AlterConfigsRequest, AlterConfigsResponse;
    AlterReplicaLogDirs: AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse;
    DescribeLogDirs: DescribeLogDirsRequest, DescribeLogDirsResponse;
    SaslAuthenticate: SaslAuthenticateRequest, SaslAuthenticateResponse;
    CreatePartitions: CreatePartitionsRequest, CreatePartitionsResponse;
    CreateDelegationToken: CreateDelegationTokenRequest, CreateDelegationTokenResponse;
    RenewDelegationToken: RenewDelegationTokenRequest, RenewDelegationTokenResponse;
    ExpireDelegationToken: ExpireDelegationTokenRequest, ExpireDelegationTokenResponse;
    DescribeDelegationToken: DescribeDelegationTokenRequest, DescribeDelegationTokenResponse;
    DeleteGroups: DeleteGroupsRequest, DeleteGroupsResponse;
    ElectLeaders: ElectLeadersRequest, ElectLeadersResponse;
    IncrementalAlterConfigs: IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse;
    AlterPartitionReassignments: AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse;
    ListPartitionReassignments: ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse;
    OffsetDelete: OffsetDeleteRequest, OffsetDeleteResponse;
    DescribeClientQuotas: DescribeClientQuotasRequest, DescribeClientQuotasResponse;
    AlterClientQuotas: AlterClientQuotasRequest, AlterClientQuotasResponse;
    DescribeUserScramCredentials: DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse;
    AlterUserScramCredentials: AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse;
    Vote: VoteRequest, VoteResponse;
    BeginQuorumEpoch: BeginQuorumEpochRequest, BeginQuorumEpochResponse;
    EndQuorumEpoch: EndQuorumEpochRequest, EndQuorumEpochResponse;
    DescribeQuorum: DescribeQuorumRequest, DescribeQuorumResponse;
    AlterPartition: AlterPartitionRequest, AlterPartitionResponse;
    UpdateFeatures: UpdateFeaturesRequest, UpdateFeaturesResponse;
    Envelope: EnvelopeRequest, EnvelopeResponse;
    FetchSnapshot: FetchSnapshotRequest, FetchSnapshotResponse;
    DescribeCluster: DescribeClusterRequest, DescribeClusterResponse;
    DescribeProducers: DescribeProducersRequest, DescribeProducersResponse;
    BrokerRegistration: BrokerRegistrationRequest, BrokerRegistrationResponse;
    BrokerHeartbeat: BrokerHeartbeatRequest, BrokerHeartbeatResponse;
    UnregisterBroker: UnregisterBrokerRequest, UnregisterBrokerResponse;
    DescribeTransactions: DescribeTransactionsRequest, DescribeTransactionsResponse;
    ListTransactions: ListTransactionsRequest, ListTransactionsResponse;
    AllocateProducerIds: AllocateProducerIdsRequest, AllocateProducerIdsResponse;
    ConsumerGroupHeartbeat: ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse;
    ConsumerGroupDescribe: ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse;
    ControllerRegistration: ControllerRegistrationRequest, ControllerRegistrationResponse;
    GetTelemetrySubscriptions: GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse;
    PushTelemetry: PushTelemetryRequest, PushTelemetryResponse;
    AssignReplicasToDirs: AssignReplicasToDirsRequest, AssignReplicasToDirsResponse;
    ListConfigResources: ListConfigResourcesRequest, ListConfigResourcesResponse;
    DescribeTopicPartitions: DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse;
    ShareGroupHeartbeat: ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse;
    ShareGroupDescribe: ShareGroupDescribeRequest, ShareGroupDescribeResponse;
    ShareFetch: ShareFetchRequest, ShareFetchResponse;
    ShareAcknowledge: ShareAcknowledgeRequest, ShareAcknowledgeResponse;
    AddRaftVoter: AddRaftVoterRequest, AddRaftVoterResponse;
    RemoveRaftVoter: RemoveRaftVoterRequest, RemoveRaftVoterResponse;
    UpdateRaftVoter: UpdateRaftVoterRequest, UpdateRaftVoterResponse;
    InitializeShareGroupState: InitializeShareGroupStateRequest, InitializeShareGroupStateResponse;
    ReadShareGroupState: ReadShareGroupStateRequest, ReadShareGroupStateResponse;
    WriteShareGroupState: WriteShareGroupStateRequest, WriteShareGroupStateResponse;
    DeleteShareGroupState: DeleteShareGroupStateRequest, DeleteShareGroupStateResponse;
    ReadShareGroupStateSummary: ReadShareGroupStateSummaryRequest, ReadShareGroupStateSummaryResponse;
    StreamsGroupHeartbeat: StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse;
    StreamsGroupDescribe: StreamsGroupDescribeRequest, StreamsGroupDescribeResponse;
    DescribeShareGroupOffsets: DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse;
    AlterShareGroupOffsets: AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse;
    DeleteShareGroupOffsets: DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse;
    StreamsGroupTopologyDescriptionUpdate: StreamsGroupTopologyDescriptionUpdateRequest, StreamsGroupTopologyDescriptionUpdateResponse;
    UnregisterController: UnregisterControllerRequest, UnregisterControllerResponse;
    TxnShareAcknowledgeDraft: TxnShareAcknowledgeDraftRequest, TxnShareAcknowledgeDraftResponse;
    AddShareAcksToTxn: AddShareAcksToTxnRequest, AddShareAcksToTxnResponse;
    TxnShareAcknowledge: TxnShareAcknowledgeRequest, TxnShareAcknowledgeResponse;
    DescribePendingShareAcks: DescribePendingShareAcksRequest, DescribePendingShareAcksResponse;
}

impl ApiKey {
    /// The versions that Kafka 4.4 announces without unstable APIs. Produce is announced from 0
    /// although 0 to 2 are gone: librdkafka would give up compression otherwise (KAFKA-18659).
    pub const fn announced_versions(self) -> RangeInclusive<i16> {
        match self {
            Self::Produce => 0..=*self.versions().end(),
            Self::InitProducerId => *self.versions().start()..=5,
            _ => self.versions(),
        }
    }

    /// Whether this version has compact lengths and tagged fields.
    pub fn is_flexible(self, version: i16) -> bool {
        self.flexible_from().is_some_and(|from| version >= from)
    }

    /// The version of the request header: 2 has tagged fields, 1 has not. Also for versions
    /// that the API lacks, so that they can be refused by name.
    pub fn request_header_version(self, version: i16) -> i16 {
        if self.is_flexible(version) { 2 } else { 1 }
    }

    /// The version of the response header: 1 has tagged fields, 0 has not. Answers to
    /// ApiVersions always have 0, since the client does not know yet what the broker knows.
    pub fn response_header_version(self, version: i16) -> i16 {
        match self {
            Self::ApiVersions => 0,
            _ => i16::from(self.is_flexible(version)),
        }
    }
}
