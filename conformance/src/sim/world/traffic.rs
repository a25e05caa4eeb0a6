//! What travels between clients and machines: requests, answers, and what the network makes of them.

use ackord_coord_core::Broker;
use ackord_coord_core::contract::ConnId;
use ackord_proto::api::{Request, RequestHeader, encode_request_frame};
use ackord_proto::printer::Printer;
use bytes::Bytes;

use super::{Call, Client, Event, PATIENCE_MS, World};
use crate::sim::cluster::Output;
use crate::sim::hooks;
use crate::sim::network::{Fate, fate};
use crate::transcript::decode_response;

impl World<'_> {
    pub(super) fn arrive(&mut self, conn: ConnId, correlation: i32, bytes: Bytes) {
        let now = self.now();
        if self.conns.get(&conn) == Some(&false) {
            return;
        }
        if self.conns.insert(conn, true).is_none() {
            self.cluster.open(now, conn);
        }
        self.collect();
        if self.conns.get(&conn) != Some(&true) {
            return;
        }
        let Some(call) = self.calls.get(&(conn, correlation)) else {
            return;
        };
        self.arrivals += 1;
        self.ledger
            .borrow_mut()
            .on_request(self.mono_us, conn.0, &call.request);
        if self.transcript.is_some() {
            let call = &self.calls[&(conn, correlation)];
            let mut printer = Printer::default();
            call.request.print(call.version, &mut printer);
            let who = self.clients[call.client].ctx.name.clone();
            let copy = if call.copy { " (again)" } else { "" };
            let text = format!("{who}#{correlation}{copy} -> {}", printer.finish());
            self.say(|| text);
        }
        let request = self.calls[&(conn, correlation)].request.clone();
        let look = |world: &World<'_>| {
            let brokers = world.cluster.brokers();
            let ledger = world.ledger.borrow();
            brokers
                .first()
                .and_then(|broker| hooks::before(broker, &ledger, &request))
        };
        let mut seen = look(self);
        let era = self.cluster.era();
        self.cluster.frame(now, conn, bytes);
        if let (Some(seen), Some(broker)) = (&mut seen, self.cluster.brokers().first()) {
            hooks::after(broker, &self.ledger.borrow(), &request, seen);
        }
        if let Some(call) = self.calls.get_mut(&(conn, correlation)) {
            (call.arrived_us, call.seen, call.era) = (Some(self.mono_us), seen, era);
        }
        self.collect();
    }

    /// Takes what left the cluster.
    pub(super) fn collect(&mut self) {
        for output in self.cluster.outputs() {
            match output {
                Output::Closed(conn) => {
                    self.forget_conn(conn);
                    self.ledger.borrow_mut().closed(self.mono_us, conn.0);
                    let waits = |client: &Client| client.conn == Some(conn);
                    if let Some(client) = self.clients.iter().position(waits) {
                        self.clients[client].conn = None;
                        if let Some((conn, correlation)) = self.clients[client].waiting {
                            let at = self.mono_us + 1000;
                            self.plan_event(at, Event::GiveUp(client, conn, correlation));
                        }
                    }
                }
                Output::Frame(conn, bytes) => self.replied(conn, &bytes),
            }
        }
    }

    fn replied(&mut self, conn: ConnId, bytes: &Bytes) {
        let correlation = bytes
            .first_chunk()
            .map_or(-1, |raw| i32::from_be_bytes(*raw));
        let Some(call) = self.calls.remove(&(conn, correlation)) else {
            return;
        };
        let response = match decode_response(call.request.key(), call.version, bytes) {
            Ok(response) => response,
            Err(error) => {
                return self
                    .problems
                    .push(format!("an answer cannot be read: {error}"));
            }
        };
        self.ledger.borrow_mut().deliveries.era = self.cluster.era();
        self.ledger.borrow_mut().on_response(
            (call.arrived_us.unwrap_or(self.mono_us), self.mono_us),
            conn.0,
            call.era,
            &call.request,
            call.version,
            &response,
        );
        let judged = {
            let (brokers, ledger) = (self.cluster.brokers(), self.ledger.borrow());
            let judge = |broker: &&Broker| {
                hooks::judge(
                    broker,
                    &ledger,
                    conn.0,
                    &call.request,
                    &response,
                    call.seen.as_ref(),
                )
            };
            brokers.first().and_then(judge)
        };
        self.problems.extend(judged);
        if self.transcript.is_some() {
            let mut printer = Printer::default();
            response.print(call.version, &mut printer);
            let who = self.clients[call.client].ctx.name.clone();
            let lost = if call.mute || call.copy {
                " (lost)"
            } else {
                ""
            };
            let text = format!("{who}#{correlation} <-{lost} {}", printer.finish());
            self.say(|| text);
        }
        if !call.copy && !call.mute {
            let takes = self.clients[call.client].net.below(2000);
            let event = Event::Reply(call.client, conn, correlation, Box::new(response));
            self.plan_event(self.mono_us + takes, event);
        }
    }

    /// Nothing comes from a connection any more.
    pub(super) fn forget_conn(&mut self, conn: ConnId) {
        self.conns.insert(conn, false);
        let answered = self.calls.range((conn, i32::MIN)..=(conn, i32::MAX));
        let keys: Vec<(ConnId, i32)> = answered.map(|(key, _)| *key).collect();
        keys.iter().for_each(|key| drop(self.calls.remove(key)));
    }

    pub(super) fn new_conn(&mut self) -> ConnId {
        self.last_conn += 1;
        ConnId(self.last_conn)
    }

    pub(super) fn call(&mut self, number: usize, request: Request, version: i16) {
        let draw = fate(
            &mut self.clients[number].net,
            &request,
            version,
            self.plan.net_permille,
        );
        let request_number = self.clients[number].requests;
        self.clients[number].requests += 1;
        let spared = !self.faulty || self.without.net.contains(&(number, request_number));
        let fate = if spared { Fate::Arrives } else { draw.fate };
        if fate != Fate::Arrives {
            self.net_faults.push((number, request_number));
        }
        let conn = match self.clients[number].conn {
            Some(conn) => conn,
            None => self.new_conn(),
        };
        self.clients[number].conn = Some(conn);
        let at = self.mono_us + draw.takes_us;
        let mute = matches!(fate, Fate::ReplyLost);
        let arrives = !matches!(fate, Fate::Late | Fate::Lost);
        let call = Call {
            client: number,
            request: request.clone(),
            version,
            copy: false,
            mute,
            arrived_us: None,
            era: 0,
            seen: None,
        };
        let correlation = self.send(arrives.then_some(at), conn, call);
        self.clients[number].waiting = Some((conn, correlation));
        let gives_up = Event::GiveUp(number, conn, correlation);
        match fate {
            Fate::Arrives => {
                let event = Event::OutOfPatience(number, conn, correlation);
                self.plan_event(at + PATIENCE_MS * 1000, event);
            }
            Fate::Repeated => {
                self.plan_event(at + PATIENCE_MS * 1000, gives_up);
                self.copy(at + draw.late_us, number, &request, version);
            }
            Fate::ReplyLost => self.plan_event(at + draw.short_us, gives_up),
            Fate::Lost => self.plan_event(at, gives_up),
            Fate::Late => {
                self.plan_event(at, gives_up);
                self.copy(at + draw.late_us, number, &request, version);
            }
        }
    }

    /// The same bytes arrive on a connection of their own.
    fn copy(&mut self, at: u64, client: usize, request: &Request, version: i16) {
        let conn = self.new_conn();
        let call = Call {
            client,
            request: request.clone(),
            version,
            copy: true,
            mute: true,
            arrived_us: None,
            era: 0,
            seen: None,
        };
        self.send(Some(at), conn, call);
        self.plan_event(at + 5_000_000, Event::Break(conn));
    }

    /// Puts a request on its way; returns its correlation id.
    fn send(&mut self, arrives_at: Option<u64>, conn: ConnId, call: Call) -> i32 {
        self.last_correlation += 1;
        let correlation = self.last_correlation;
        let header = RequestHeader {
            api_key: call.request.key(),
            api_version: call.version,
            correlation_id: correlation,
            client_id: None,
            unknown_tags: Default::default(),
        };
        match encode_request_frame(&header, &call.request) {
            Ok(chunks) => {
                if let Some(at) = arrives_at {
                    let bytes = Bytes::from(chunks.concat()).slice(4..);
                    self.plan_event(at, Event::Arrive(conn, correlation, bytes));
                }
                self.calls.insert((conn, correlation), call);
            }
            Err(error) => {
                let request = &call.request;
                self.problems
                    .push(format!("{request:?} cannot be said: {error}"));
            }
        }
        correlation
    }
}
