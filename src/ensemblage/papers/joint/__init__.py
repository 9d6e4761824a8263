"""The joint feature-subset paper."""
