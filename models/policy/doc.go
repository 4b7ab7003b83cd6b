// Package policy defines the policy file and makes decisions with it.
//
// A [Policy] maps features to scores of actions: networks whose outputs are averaged, or one fixed action.
// [Policy.Export] writes it as one ONNX file that describes itself; [Read] and [Parse] check such a file; a [Decider]
// runs it.
//
// A service that makes decisions needs only this package. It imports the graphs (onnx), the runtime (onnx/ort), the
// names and fees of the actions (costs) and the weights (models/network), but no training code.
package policy
