"""The types of requests and responses; the OpenAPI document is generated from them."""
