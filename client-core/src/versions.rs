//! What a broker offers, and which version of an API both sides speak.

use alloc::collections::BTreeMap;
use core::ops::RangeInclusive;

use ackord_proto::messages::ApiVersionsResponse;
use ackord_proto::str::Str;

/// Versions and finalized features of one broker, from its ApiVersions response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advertised {
    apis: BTreeMap<i16, (i16, i16)>,
    features: BTreeMap<Str, i16>,
    pub(crate) features_epoch: i64,
}

impl Advertised {
    pub(crate) fn from_response(response: &ApiVersionsResponse) -> Self {
        let apis = response.api_keys.iter();
        let features = response.finalized_features.iter();
        Advertised {
            apis: apis
                .map(|api| (api.api_key, (api.min_version, api.max_version)))
                .collect(),
            features: features
                .map(|known| (known.name.clone(), known.max_version_level))
                .collect(),
            features_epoch: response.finalized_features_epoch,
        }
    }

    /// The highest version in both ranges.
    pub(crate) fn pick(&self, api: i16, ours: &RangeInclusive<i16>) -> Option<i16> {
        let (min, max) = self.apis.get(&api)?;
        let version = (*ours.end()).min(*max);
        (version >= *ours.start() && version >= *min).then_some(version)
    }

    /// The finalized level of a feature; 0 where it is not finalized.
    pub(crate) fn feature(&self, name: &str) -> i16 {
        self.features.get(name).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_common_version_wins() {
        let apis = [(0, (3, 13)), (1, (4, 18))].into();
        let broker = Advertised {
            apis,
            ..Advertised::default()
        };
        assert_eq!(broker.pick(0, &(12..=13)), Some(13));
        assert_eq!(broker.pick(0, &(3..=11)), Some(11));
        assert_eq!(broker.pick(1, &(19..=20)), None);
        assert_eq!(broker.pick(1, &(0..=3)), None);
        assert_eq!(broker.pick(76, &(1..=1)), None);
        assert_eq!(broker.feature("transaction.version"), 0);
    }
}
