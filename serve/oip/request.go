package oip

import (
	"fmt"
	"time"
)

// request is an inference request, over REST or gRPC.
type request struct {
	model   string
	version string // empty: the current one
	id      string // returned with the response
	log     string // id of the request for the decision log; empty: a new one
	inputs  []tensor
	outputs []output // nil: all, in the form that binary says
	binary  bool     // REST: the default of output.binary
	timeout time.Duration
}

// output is an output that the client requests.
type output struct {
	name     string
	binary   bool // REST: as binary data after the JSON
	implicit bool // binary is not given: the default of the request applies
}

// unsupported are parameters that would change the response, with the reason why they are refused. Other unknown parameters
// are ignored, as the protocol requires.
var unsupported = map[string]string{
	"classification":          "outputs are given as they are; the names of the pairs are in the policy file",
	"shared_memory_region":    "there is no shared memory: send the tensor with the request",
	"shared_memory_byte_size": "there is no shared memory: send the tensor with the request",
	"shared_memory_offset":    "there is no shared memory: send the tensor with the request",
}

// sequences are the parameters of models with a state between requests.
var sequences = map[string]bool{"sequence_id": true, "sequence_start": true, "sequence_end": true}

// parameter is the value of a parameter: a bool, an int64, a uint64, a float64 or a string.
type parameter any

// checkParameter returns an error for an unsupported parameter. Zero values are allowed, because clients of Triton send them:
// no classes, and sequence 0.
func checkParameter(where, name string, value parameter) error {
	if value == int64(0) || value == uint64(0) || value == "" || value == false {
		return nil
	}
	if reason, ok := unsupported[name]; ok {
		return problemf(invalid, "%s: parameter %q is not served: %s", where, name, reason)
	}
	if sequences[name] {
		return problemf(invalid, "%s: parameter %q is not served: policies keep no state between requests", where, name)
	}
	return nil
}

// parameter reads a parameter of the request itself.
func (r *request) parameter(name string, value parameter) error {
	switch name {
	case "binary_data_output":
		on, ok := value.(bool)
		if !ok {
			return problemf(invalid, "parameter %q is %v, not true or false", name, value)
		}
		r.binary = on
	case "timeout":
		us, err := microseconds(value)
		if err != nil {
			return problemf(invalid, "parameter %q: %v", name, err)
		}
		r.timeout = us
	}
	return checkParameter("request", name, value)
}

// microseconds reads the timeout of a request; 0: none.
func microseconds(value parameter) (time.Duration, error) {
	var us int64
	switch v := value.(type) {
	case int64:
		us = v
	case uint64:
		us = int64(min(v, 1<<62))
	case float64:
		us = int64(v)
		if float64(us) != v {
			us = -1
		}
	default:
		us = -1
	}
	if us < 0 {
		return 0, fmt.Errorf("%v is not a number of microseconds", value)
	}
	return time.Duration(min(us, int64(24*time.Hour/time.Microsecond))) * time.Microsecond, nil
}
