package hf

// Options say what a graph computes.
type Options struct {
	Head  *Head // from hidden states to one vector; nil: the output of the model is the result
	Tower Tower // of a model that has several
}
