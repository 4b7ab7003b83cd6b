package metrics

// Text counts the text of a decision. kept is whether it will be written to the log of texts.
func (m *Metrics) Text(kept bool) {
	if m == nil {
		return
	}
	m.texts.WithLabelValues(word(kept)).Inc()
}
