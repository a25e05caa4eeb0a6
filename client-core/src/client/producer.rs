//! The transactional producer, and the acknowledger that is one without records.

use alloc::vec::Vec;
use core::marker::PhantomData;

use ackord_proto::str::Str;
use bytes::Bytes;

use super::ANOTHER;
use super::clock::random_seed;
use super::handle::Handle;
use super::runtime::Runtime;
use crate::{
    ClientError, PlainAcknowledgements, PreparedTxnState, ProducerCommand, ProducerConfig,
    ProducerOutput, RecordHeader, ShareAcknowledgements, ShareGroupMetadata, TxnCompletion,
};

/// A record to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerRecord {
    /// Topic.
    pub topic: Str,
    /// Partition; `None` chooses by key (murmur2, as Kafka) or in turn.
    pub partition: Option<i32>,
    /// Key.
    pub key: Option<Bytes>,
    /// Value; `None` is a tombstone.
    pub value: Option<Bytes>,
    /// Headers.
    pub headers: Vec<RecordHeader>,
}

impl ProducerRecord {
    /// A record without a key.
    pub fn new(topic: impl Into<Str>, value: impl Into<Bytes>) -> Self {
        ProducerRecord {
            topic: topic.into(),
            value: Some(value.into()),
            ..Default::default()
        }
    }
}

/// Where a record was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordMetadata {
    /// Partition.
    pub partition: i32,
    /// Offset; -1 where the broker knew the record already and no longer says where.
    pub offset: i64,
}

/// Where acknowledgements have gone that were allowed to fall back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "what has fallen back is acknowledged by nobody yet"]
pub enum ShareAcksSent {
    /// Nowhere: the broker cannot take them into a transaction. After its commit they are for
    /// [`ShareConsumer::acknowledge_plainly`](super::ShareConsumer::acknowledge_plainly); where it
    /// does not commit they are to be dropped.
    FallenBack(PlainAcknowledgements),
    /// Into the transaction.
    InTransaction,
}

/// The transactional producer; errors say what to do next.
#[derive(Debug)]
pub struct Producer<R>(Handle<crate::Producer>, PhantomData<fn() -> R>);

impl<R: Runtime> Producer<R> {
    /// Starts its task on the current runtime.
    pub fn new(config: ProducerConfig) -> Self {
        Producer(
            Handle::new::<R>(crate::Producer::new(config, random_seed())),
            PhantomData,
        )
    }

    /// See [`ProducerCommand::InitTransactions`].
    pub async fn init_transactions(&self) -> Result<(), ClientError> {
        self.0
            .call(ProducerCommand::InitTransactions)
            .await
            .map(|_| ())
    }

    /// See [`ProducerCommand::InitTransactionsKeepingPrepared`].
    pub async fn init_transactions_keeping_prepared(&self) -> Result<(), ClientError> {
        self.0
            .call(ProducerCommand::InitTransactionsKeepingPrepared)
            .await
            .map(|_| ())
    }

    /// See [`ProducerCommand::PrepareTransaction`].
    pub async fn prepare_transaction(&self) -> Result<PreparedTxnState, ClientError> {
        match self.0.call(ProducerCommand::PrepareTransaction).await? {
            ProducerOutput::Prepared(state) => Ok(state),
            _ => Err(ANOTHER),
        }
    }

    /// See [`ProducerCommand::CompleteTransaction`].
    pub async fn complete_transaction(
        &self,
        state: PreparedTxnState,
    ) -> Result<TxnCompletion, ClientError> {
        match self
            .0
            .call(ProducerCommand::CompleteTransaction(state))
            .await?
        {
            ProducerOutput::Completed(completion) => Ok(completion),
            _ => Err(ANOTHER),
        }
    }

    /// See [`ProducerCommand::BeginTransaction`].
    pub async fn begin_transaction(&self) -> Result<(), ClientError> {
        self.0
            .call(ProducerCommand::BeginTransaction)
            .await
            .map(|_| ())
    }

    /// Sends at once, without being awaited; the future tells where the record was stored.
    pub fn send(
        &self,
        record: ProducerRecord,
    ) -> impl Future<Output = Result<RecordMetadata, ClientError>> + Send + use<R> {
        let ProducerRecord {
            topic,
            partition,
            key,
            value,
            headers,
        } = record;
        let sent = self.0.call(ProducerCommand::Send {
            topic,
            partition,
            key,
            value,
            headers,
        });
        async {
            match sent.await? {
                ProducerOutput::Sent { partition, offset } => {
                    Ok(RecordMetadata { partition, offset })
                }
                _ => Err(ANOTHER),
            }
        }
    }

    /// See [`ProducerCommand::SendShareAcksToTransaction`].
    pub async fn send_share_acks_to_transaction(
        &self,
        acknowledgements: ShareAcknowledgements,
        group: ShareGroupMetadata,
    ) -> Result<(), ClientError> {
        let command = ProducerCommand::SendShareAcksToTransaction {
            acknowledgements,
            group,
        };
        self.0.call(command).await.map(|_| ())
    }

    /// As [`send_share_acks_to_transaction`](Self::send_share_acks_to_transaction), but a broker
    /// without acknowledgements in a transaction is no error, only less: see
    /// [`ProducerCommand::SendShareAcksOrFallBack`]. Each time that this happens a warning goes to
    /// the [`log`] of the application.
    ///
    /// ```no_run
    /// # use ackord_client_core::client::{Producer, Runtime, ShareAcksSent, ShareConsumer};
    /// # use ackord_client_core::{ClientError, ShareAcknowledgements, ShareGroupMetadata};
    /// # async fn commit<R: Runtime>(
    /// #     producer: Producer<R>,
    /// #     consumer: ShareConsumer<R>,
    /// #     acks: ShareAcknowledgements,
    /// #     group: ShareGroupMetadata,
    /// # ) -> Result<(), ClientError> {
    /// let sent = producer.send_share_acks_or_fall_back(acks, group).await?;
    /// producer.commit_transaction().await?;
    /// if let ShareAcksSent::FallenBack(plain) = sent {
    ///     consumer.acknowledge_plainly(plain).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_share_acks_or_fall_back(
        &self,
        acknowledgements: ShareAcknowledgements,
        group: ShareGroupMetadata,
    ) -> Result<ShareAcksSent, ClientError> {
        let command = ProducerCommand::SendShareAcksOrFallBack {
            acknowledgements,
            group,
        };
        match self.0.call(command).await? {
            ProducerOutput::FallenBack(plain) => {
                log::warn!(
                    "the broker does not offer {}: acknowledgements for the share group {} are not \
                     in the transaction; after a crash between its commit and the plain \
                     acknowledgement the records are delivered again",
                    plain.missing(),
                    plain.group().group_id
                );
                Ok(ShareAcksSent::FallenBack(plain))
            }
            _ => Ok(ShareAcksSent::InTransaction),
        }
    }

    /// See [`ProducerCommand::Flush`].
    pub async fn flush(&self) -> Result<(), ClientError> {
        self.0.call(ProducerCommand::Flush).await.map(|_| ())
    }

    /// See [`ProducerCommand::CommitTransaction`].
    pub async fn commit_transaction(&self) -> Result<(), ClientError> {
        self.0
            .call(ProducerCommand::CommitTransaction)
            .await
            .map(|_| ())
    }

    /// See [`ProducerCommand::AbortTransaction`].
    pub async fn abort_transaction(&self) -> Result<(), ClientError> {
        self.0
            .call(ProducerCommand::AbortTransaction)
            .await
            .map(|_| ())
    }

    /// Aborts what is open and closes.
    pub async fn close(self) -> Result<(), ClientError> {
        self.0.close(ProducerCommand::Close).await
    }
}

/// Acknowledges records of a share group in transactions of their own, for applications whose output
/// goes elsewhere (KIP-1289).
#[derive(Debug)]
pub struct TransactionalShareAcknowledger<R>(Producer<R>);

impl<R: Runtime> TransactionalShareAcknowledger<R> {
    /// Starts its task on the current runtime.
    pub fn new(config: ProducerConfig) -> Self {
        TransactionalShareAcknowledger(Producer::new(config))
    }

    /// First call; see [`ProducerCommand::InitTransactions`].
    pub async fn init_transactions(&self) -> Result<(), ClientError> {
        self.0.init_transactions().await
    }

    /// Begins, binds and commits. After an abortable error nothing is acknowledged; call
    /// [`abort_acknowledgements`](Self::abort_acknowledgements) before the next. The same after the
    /// future was dropped: where that says that no transaction is open, all was acknowledged.
    pub async fn commit_acknowledgements(
        &self,
        acknowledgements: ShareAcknowledgements,
        group: ShareGroupMetadata,
    ) -> Result<(), ClientError> {
        self.0.begin_transaction().await?;
        self.0
            .send_share_acks_to_transaction(acknowledgements, group)
            .await?;
        self.0.commit_transaction().await
    }

    /// As [`commit_acknowledgements`](Self::commit_acknowledgements), but where the broker has no
    /// acknowledgements in a transaction they come back, as with
    /// [`Producer::send_share_acks_or_fall_back`].
    pub async fn commit_acknowledgements_or_fall_back(
        &self,
        acknowledgements: ShareAcknowledgements,
        group: ShareGroupMetadata,
    ) -> Result<ShareAcksSent, ClientError> {
        self.0.begin_transaction().await?;
        let sent = self
            .0
            .send_share_acks_or_fall_back(acknowledgements, group)
            .await?;
        self.0.commit_transaction().await?;
        Ok(sent)
    }

    /// First call of an instance that takes up what another has prepared; see
    /// [`ProducerCommand::InitTransactionsKeepingPrepared`].
    pub async fn recover(&self) -> Result<(), ClientError> {
        self.0.init_transactions_keeping_prepared().await
    }

    /// Begins, binds and prepares: the acknowledgements wait, also over crashes, until they are
    /// completed by the state that this gives, as text in a checkpoint for instance (KIP-939). For a
    /// producer with `two_phase_commit`.
    pub async fn prepare_acknowledgements(
        &self,
        acknowledgements: ShareAcknowledgements,
        group: ShareGroupMetadata,
    ) -> Result<PreparedTxnState, ClientError> {
        self.0.begin_transaction().await?;
        self.0
            .send_share_acks_to_transaction(acknowledgements, group)
            .await?;
        self.0.prepare_transaction().await
    }

    /// Acknowledges what was prepared where `state` names it, and gives it back where not; see
    /// [`ProducerCommand::CompleteTransaction`].
    pub async fn complete_acknowledgements(
        &self,
        state: PreparedTxnState,
    ) -> Result<TxnCompletion, ClientError> {
        self.0.complete_transaction(state).await
    }

    /// Gives back what the open transaction holds.
    pub async fn abort_acknowledgements(&self) -> Result<(), ClientError> {
        self.0.abort_transaction().await
    }

    /// Aborts what is open and closes.
    pub async fn close(self) -> Result<(), ClientError> {
        self.0.close().await
    }
}
