"""What all else stands on: scalar types, devices, sizes, storages, promotion, errors, interception."""
