package tablefile

// ahead calls a function in the background, one call ahead of its caller. A value is valid until the next but one is
// taken, so the function may use two pieces of memory in turn.
type ahead[T any] struct {
	next  func() T
	off   bool   // call it when the value is asked for
	ready chan T // the result of the running call; nil before the first
	item  T      // that was looked at and not taken
	have  bool
}

func (a *ahead[T]) start() {
	a.ready = make(chan T, 1)
	go func(to chan<- T) { to <- a.next() }(a.ready)
}

// peek returns the next value, which stays the next one.
func (a *ahead[T]) peek() T {
	switch {
	case a.have:
	case a.off:
		a.item, a.have = a.next(), true
	default:
		if a.ready == nil {
			a.start()
		}
		a.item, a.have = <-a.ready, true
	}
	return a.item
}

// take returns the next value, and starts the call for the one after it.
func (a *ahead[T]) take() T {
	item := a.peek()
	a.have = false
	if !a.off {
		a.start()
	}
	return item
}

// stop waits for the running call.
func (a *ahead[T]) stop() {
	if a.ready != nil && !a.have {
		<-a.ready
	}
	a.ready, a.have = nil, false
}
