"""The stores that the tests of this folder run over."""

from tests.flows.kit import memory as memory
from tests.flows.kit import store as store
