// Package policy is the policy file and what decides by it.
//
// A [Policy] maps features to scores of actions: networks whose answers are
// averaged, or one fixed action. [Policy.Export] writes it as one ONNX file that
// describes itself; [Read] and [Parse] check such a file; a [Decider] runs it.
//
// A service that decides needs this package alone. It imports the graphs
// (onnx), the runtime (onnx/ort), the names and fees of the actions (costs) and
// the weights (models/network). Nothing of training comes with it.
package policy
