"""What is studied: worlds that can be observed and intervened upon."""
