"""PyTorch Geometric: convolutions of several kinds, pooling, batches, relations, a network that learns."""

import numpy as np
import torch
import torch_geometric.nn as gnn
from common import initialise, report
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import AddSelfLoops, Compose, GCNNorm
from torch_geometric.utils import degree, scatter, softmax, to_dense_adj, to_dense_batch, to_undirected

PACKAGES = {"torch-geometric": "2.8.1"}
NEEDS = ("aiohttp", "fsspec", "jinja2", "psutil", "pyparsing", "requests", "scipy", "tqdm", "xxhash")
RUNS = "17 convolutions, pooling, batches, loaders, relations, sparse matrices, a network that learns"
LACKS = "samplers and kernels of torch-sparse, torch-scatter, pyg-lib"
SINCE = "0.1.0"

numbers = np.random.default_rng(0)
x = torch.from_numpy(numbers.standard_normal((12, 5)))
edges = to_undirected(torch.from_numpy(numbers.integers(0, 12, (2, 30))))
weight = torch.from_numpy(numbers.random(edges.size(1)))
features = torch.from_numpy(numbers.standard_normal((edges.size(1), 3)))
degrees = torch.bincount(degree(edges[1]).long())
found = {}

LAYERS = {
    "gcn": (gnn.GCNConv(5, 8), weight),
    "gat": (gnn.GATConv(5, 4, heads=2, edge_dim=3), features),
    "gat 2": (gnn.GATv2Conv(5, 4, heads=2),),
    "sage": (gnn.SAGEConv(5, 8),),
    "sage by max": (gnn.SAGEConv(5, 8, aggr="max"),),
    "gin": (gnn.GINConv(torch.nn.Linear(5, 8)),),
    "chebyshev": (gnn.ChebConv(5, 8, 3),),
    "transformer": (gnn.TransformerConv(5, 8),),
    "edge": (gnn.EdgeConv(torch.nn.Linear(10, 8)),),
    "graph": (gnn.GraphConv(5, 8, aggr="mean"), weight),
    "aggregations": (gnn.PNAConv(5, 8, ["mean", "max", "std"], ["identity", "amplification"], degrees),),
    "gated": (gnn.GatedGraphConv(8, 2),),
    "propagation": (gnn.APPNP(3, 0.1),),
    "tag": (gnn.TAGConv(5, 8),),
    "arma": (gnn.ARMAConv(5, 8),),
    "relations": (gnn.RGCNConv(5, 8, 2), (weight > 0.5).long()),
    "networks": (gnn.NNConv(5, 4, torch.nn.Linear(3, 20)), features),
}
for name, (layer, *more) in LAYERS.items():
    inputs = x.clone().requires_grad_()
    out = initialise(layer)(inputs, edges, *more)
    (out**2).sum().backward()
    found[name] = [out.abs().sum().item(), inputs.grad.abs().sum().item()]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = gnn.GATConv(5, 8, heads=2)
        self.norm = gnn.BatchNorm(16)
        self.second = gnn.GCNConv(16, 8)
        self.last = torch.nn.Linear(8, 3)

    def forward(self, data):
        h = self.norm(self.first(data.x, data.edge_index)).relu()
        h = self.second(h, data.edge_index).relu()
        return self.last(gnn.global_mean_pool(h, data.batch))


def graph(n, kind):
    nodes, ends = numbers.standard_normal((n, 5)), numbers.integers(0, n, (2, 3 * n))
    return Data(x=torch.from_numpy(nodes), edge_index=torch.from_numpy(ends), y=torch.tensor([kind]))


graphs = [graph(4 + i, i % 3) for i in range(6)]
net = initialise(Net())
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(5):
    for batch in DataLoader(graphs, batch_size=3):
        loss = torch.nn.functional.cross_entropy(net(batch), batch.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
found["trained"] = loss.item()

batch = Batch.from_data_list(graphs)
found["separated"] = [g.x.sum().item() for g in batch.to_data_list()]
dense, mask = to_dense_batch(batch.x, batch.batch)
found["dense"], found["kept"] = dense.sum().item(), mask.sum().item()
for pool in (gnn.TopKPooling(5, ratio=0.5), gnn.SAGPooling(5, ratio=0.5)):
    kept = initialise(pool)(batch.x, batch.edge_index, batch=batch.batch)[0]
    found[type(pool).__name__] = kept.sum().item()
found["sums"] = gnn.global_add_pool(batch.x, batch.batch)
found["maxima"] = gnn.global_max_pool(batch.x, batch.batch)
found["adjacency"] = to_dense_adj(edges).sum().item()
found["scatter"] = scatter(features, edges[0], reduce="max")
found["softmax"] = softmax(weight, edges[0])
normed = Compose([AddSelfLoops(), GCNNorm()])(Data(x=x, edge_index=edges, num_nodes=12))
found["normed"] = normed.edge_weight
matrix = torch.sparse_coo_tensor(edges, torch.ones(edges.size(1)), (12, 12)).coalesce().to_sparse_csr()
found["sparse"] = initialise(gnn.GCNConv(5, 8))(x, matrix).detach()

many = HeteroData()
many["user"].x, many["item"].x = x, torch.from_numpy(numbers.standard_normal((6, 4)))
many["user", "buys", "item"].edge_index = torch.stack([torch.arange(12), torch.arange(12) % 6])
many["item", "of", "user"].edge_index = many["user", "buys", "item"].edge_index.flip(0)
layer = gnn.HeteroConv({kind: gnn.SAGEConv((-1, -1), 8) for kind in many.edge_types})
layer(many.x_dict, many.edge_index_dict)  # which gives the lazy parameters their shapes
out = initialise(layer)(many.x_dict, many.edge_index_dict)
found["kinds"] = [value.abs().sum().item() for value in out.values()]
found["model"] = initialise(gnn.models.GraphSAGE(5, 8, 2, 3, jk="cat"))(x, edges).abs().sum().item()
coder = gnn.GAE(gnn.GCN(5, 8, 2, 4))
found["coder"] = coder.decoder.forward_all(initialise(coder).encode(x, edges)).sum().item()
report(**found)
