"""The network as a graph for others: networkx, Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ensemblage.bayes._network import BayesNetwork


def write_networkx(network: BayesNetwork) -> Any:
    """Make a networkx graph.

    Parameters
    ----------
    network : BayesNetwork
        Any network.

    Returns
    -------
    networkx.DiGraph
        Node attributes ``states`` and ``table``.
    """
    try:
        import networkx as nx  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("to_networkx needs networkx; install it, or use to_dot.") from error
    graph = nx.DiGraph()
    for name in network.nodes:
        graph.add_node(name, states=list(network.states[name]), table=network.tables[name])
    graph.add_edges_from(network.edges)
    return graph


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def write_dot(network: BayesNetwork, highlight: str | None = None) -> str:
    """Write Graphviz text.

    Parameters
    ----------
    network : BayesNetwork
        Any network.
    highlight : str, default=None
        A node to draw with a double border.

    Returns
    -------
    str
        A ``digraph``.
    """
    lines = ["digraph network {", "  node [shape=ellipse];"]
    for name in network.nodes:
        extra = " [peripheries=2]" if name == highlight else ""
        lines.append(f"  {_quote(name)}{extra};")
    lines += [f"  {_quote(parent)} -> {_quote(child)};" for parent, child in network.edges]
    return "\n".join([*lines, "}", ""])
