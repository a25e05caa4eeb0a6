//! The four requests of the persister (KIP-932) have one shape: topics, and partitions in them. Here
//! it is walked once.

/// Answers each partition of a request by itself and puts the answers into the response.
macro_rules! each_partition {
    ($request:expr, $response:ident, $topic:ident::$result:ident, |$key:ident, $data:ident| $answer:expr) => {{
        let mut response = $response::default();
        for topic in &$request.topics {
            let mut result = $topic::$result {
                topic_id: topic.topic_id,
                ..Default::default()
            };
            for $data in &topic.partitions {
                let $key = $crate::share::ShareKey {
                    group: $request.group_id.clone(),
                    topic: topic.topic_id,
                    partition: $data.partition,
                };
                result.partitions.push($answer);
            }
            response.results.push(result);
        }
        response
    }};
}

pub(crate) use each_partition;
