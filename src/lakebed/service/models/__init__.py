"""What the service answers and takes, as types; the OpenAPI document is made of them."""
