"""What people see of a listing where it is not the records themselves, one file each."""
