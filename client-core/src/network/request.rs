//! A request on its way, and how it ended.

use core::ops::RangeInclusive;

use ackord_machine::MonoTime;
use ackord_proto::api::{Request, Response};
use ackord_proto::error_code::ErrorCode;
use ackord_proto::str::Str;

use crate::ClientError;
use crate::connection::Purpose;

/// Kind of a coordinator, as FindCoordinator numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CoordinatorKind {
    Group,
    Transaction,
}

impl CoordinatorKind {
    pub(crate) const fn code(self) -> i8 {
        match self {
            CoordinatorKind::Group => 0,
            CoordinatorKind::Transaction => 1,
        }
    }
}

/// Who is to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Any,
    Coordinator(CoordinatorKind, Str),
    Leader(Str, i32),
    Node(i32),
}

impl Route {
    pub(crate) fn purpose(&self) -> Purpose {
        match self {
            Route::Any | Route::Coordinator(..) => Purpose::Control,
            Route::Leader(..) | Route::Node(_) => Purpose::Data,
        }
    }
}

/// What to do when the connection breaks before the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnLoss {
    /// Tell the machine.
    Report,
    /// Send it again; the broker recognises the repetition.
    Repeat,
}

/// Whose request it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner<T> {
    FindCoordinator(CoordinatorKind, Str),
    Machine(T),
    Metadata,
}

/// A request with everything that is needed to send it again.
#[derive(Clone, Debug)]
pub(crate) struct Sending<T> {
    pub(crate) owner: Owner<T>,
    pub(crate) route: Route,
    pub(crate) body: Request,
    pub(crate) versions: RangeInclusive<i16>,
    pub(crate) give_up_at: MonoTime,
    pub(crate) on_loss: OnLoss,
    pub(super) not_before: MonoTime,
    pub(super) attempts: u32,
    pub(super) last: ErrorCode,
}

impl<T> Sending<T> {
    /// A request in any version that we know, repeated when the connection breaks.
    pub(crate) fn new(
        tag: T,
        route: Route,
        body: impl Into<Request>,
        give_up_at: MonoTime,
    ) -> Self {
        Sending::owned(Owner::Machine(tag), route, body.into(), give_up_at)
    }

    pub(super) fn owned(
        owner: Owner<T>,
        route: Route,
        body: Request,
        give_up_at: MonoTime,
    ) -> Self {
        Sending {
            owner,
            route,
            versions: body.key().versions(),
            body,
            give_up_at,
            on_loss: OnLoss::Repeat,
            not_before: MonoTime::ZERO,
            attempts: 0,
            last: ErrorCode::NONE,
        }
    }

    /// The same, only in these versions.
    pub(crate) fn versions(self, versions: RangeInclusive<i16>) -> Self {
        Sending { versions, ..self }
    }

    /// The same, but a broken connection is reported.
    pub(crate) fn report_loss(self) -> Self {
        Sending {
            on_loss: OnLoss::Report,
            ..self
        }
    }
}

/// Why a request has no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It cannot be said in the version of the broker.
    Inexpressible,
    /// The connection broke.
    Lost,
    /// Nobody can be asked: the look-up was refused.
    Refused(ErrorCode, Str),
    /// Its time is over.
    TimedOut(ErrorCode),
    /// The broker lacks the API, or speaks only other versions.
    Unsupported(&'static str),
}

impl From<Failure> for ClientError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Inexpressible => {
                ClientError::InvalidArgument("the request does not fit its encoding")
            }
            Failure::Lost => ClientError::TimedOut {
                last: ErrorCode::NETWORK_EXCEPTION,
            },
            Failure::Refused(code, message) => ClientError::Refused { code, message },
            Failure::TimedOut(last) => ClientError::TimedOut { last },
            Failure::Unsupported(api) => ClientError::Unsupported { api },
        }
    }
}

/// How a request of the machine ended.
#[derive(Debug)]
pub(crate) struct Reply<T> {
    pub(crate) tag: T,
    /// The request, to be sent again where the answer says so.
    pub(crate) sending: Sending<T>,
    pub(crate) outcome: Result<Response, Failure>,
}
