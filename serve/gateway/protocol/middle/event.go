package middle

import "pipe/serve/gateway/sse"

// EventKind is what an event of a streamed answer says.
type EventKind int

// The kinds of events, in the order of a stream.
const (
	Start EventKind = iota // ID, Model and Usage, as far as they are known
	Open                   // a part begins: Part without its text or arguments
	Delta                  // Text continues the text or the arguments of the open part
	Sign                   // Text is the signature of the open part, a reasoning
	Shut                   // the open part ends
	End                    // the answer ends: Finish, StopSequence
	Count                  // Usage as far as it is known
	Done                   // nothing follows
	Life                   // a sign of life
	Fail                   // the service sent an error: Err
	Alien                  // an event that has no place in this form: Text is its name
)

// Event is an event of a streamed answer. Parts are open one after the other, never two at a time.
type Event struct {
	Kind         EventKind
	Part         Part
	Text         string
	ID, Model    string
	Usage        Usage
	Finish       Finish
	StopSequence string
	Err          *Problem
}

// Problem is an error in words that a caller may see.
type Problem struct {
	Status  int    // of HTTP; 0: not known
	Type    string // such as invalid_request_error; "": by the status
	Code    string
	Param   string // the field, "" if none is named
	Message string
}

// Decoder reads the events of a stream of one protocol. It is used for one stream.
type Decoder interface {
	// Decode reads an event. An error means that it is none of the protocol. Events of unknown names are Alien.
	Decode(e *sse.Event) ([]Event, error)
	// End returns what is left when the stream has ended.
	End() []Event
	// Last reports whether nothing follows an event.
	Last(e *sse.Event) bool
}

// Encoder writes the events of a stream in one protocol. It is used for one stream.
type Encoder interface {
	// Encode returns the bytes for the caller, nil for none.
	Encode(e Event) []byte
}
