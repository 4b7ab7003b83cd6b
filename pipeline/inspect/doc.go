// Package inspect explains files (tensors, tables, policies, encoders, experts, indexes, checkpoints) and the machine.
package inspect
