def target_of_edge(e): raise NotImplementedError
