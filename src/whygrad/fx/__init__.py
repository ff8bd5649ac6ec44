"""torch.fx: programs as graphs of calls. A Proxy records what is done with it, and a GraphModule runs the recorded graph.

Reading order: node.py, graph.py (which writes the graph as Python), proxy.py, _symbolic_trace.py, graph_module.py,
interpreter.py.
"""

from whygrad.base.unsupported import absent_from
from whygrad.fx import graph, graph_module, immutable_collections, interpreter, node, proxy
from whygrad.fx._symbolic_trace import Tracer, symbolic_trace, wrap
from whygrad.fx.graph import Graph
from whygrad.fx.graph_module import GraphModule
from whygrad.fx.interpreter import Interpreter, Transformer
from whygrad.fx.node import Node, has_side_effect, map_arg
from whygrad.fx.proxy import Proxy

__getattr__ = absent_from("torch.fx")

__all__ = ["Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "has_side_effect", "map_arg",
           "symbolic_trace", "wrap"]
