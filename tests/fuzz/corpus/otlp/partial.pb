
full